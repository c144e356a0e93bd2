import type { LedgerBook } from '../src/core/commit/ledger-book.ts';
import type { AllocationReport } from '../src/core/host/report.ts';
import type { HostChange, HostFreshness } from '../src/runtime/reports/cell-view.ts';
import type { HostClocks } from './alarms/host-clocks.ts';
import type { MonitorState } from './api/monitor-state.ts';
import type { FaultWatch } from './detector/detector.ts';
import { eventOfChange } from './events/cell-events.ts';
import type { HostEvents } from './events/host-events.ts';
import type { SchedulerEvents } from './events/scheduler-events.ts';
import type { OpenIdPeople } from './tokens/openid-people.ts';
import type { CellChange } from './view/view.ts';

export interface ChangesDeps {
  readonly state: MonitorState;
  readonly ledgers: LedgerBook;
  readonly faultWatch: FaultWatch;
  readonly clocks: HostClocks;
  readonly hostEvents: HostEvents;
  readonly schedulerWatch: SchedulerEvents;
  /** null: tokens of OpenID providers do not count. */
  readonly people: OpenIdPeople | null;
}

/** Tells the parts of a monitor what is new in its copy of the store and in what hosts report. */
export class Changes {
  readonly #deps: ChangesDeps;
  #refreshScheduled = false;

  constructor(deps: ChangesDeps) {
    this.#deps = deps;
  }

  /** A snapshot has replaced the copy of the store. */
  replaced(): void {
    const { state, ledgers, faultWatch } = this.#deps;
    for (const [host, row] of state.copy.ledgers.rows()) ledgers.observe(host, row.value, row.modRevision);
    faultWatch.begin();
    state.statuses.changedAll();
    this.#useProviders();
    state.names.replaced();
    this.#refreshSoon();
  }

  /** @param listed a snapshot shows it */
  changed(change: CellChange, listed: boolean): void {
    const { state, ledgers, faultWatch } = this.#deps;
    const event = eventOfChange(change, state.clock.nowMs(), listed ? state.self : null);
    if (event !== null) state.events.add(event);
    switch (change.kind) {
      case 'ledgers':
        ledgers.observe(change.name, change.now?.value ?? null, change.now?.modRevision ?? change.revision);
        break;
      case 'hosts':
        faultWatch.hostChanged(change.now?.value, change.before?.value);
        this.#hostChanged(change.name);
        this.#refreshSoon();
        break;
      case 'eligibility':
        this.#hostChanged(change.name);
        break;
      case 'alive':
        if ((change.now === undefined) !== (change.before === undefined)) state.statuses.changedAll();
        break;
      case 'roles':
        this.#refreshSoon();
        break;
      case 'jobs':
        state.names.jobChanged(change.before?.value.job, change.now?.value.job);
        this.#jobChanged(change.name);
        break;
      case 'owners':
        this.#jobChanged(change.name);
        break;
      case 'allocations':
        state.names.placed(change.before?.value, change.now?.value);
        this.#jobChanged(change.name.slice(0, change.name.lastIndexOf('/')));
        break;
      case 'intents':
      case 'outcomes':
      case 'versions':
      case 'rollouts':
        this.#jobChanged(change.name.slice(0, change.name.lastIndexOf('/')));
        break;
      case 'openid':
        this.#useProviders();
        break;
      case 'runs':
      case 'shared':
      case 'pools':
      case 'meta':
      case 'pauses':
      case 'verdicts':
      case 'remedies':
      case 'budgets':
      case 'buckets':
      case 'closedHosts':
        break;
    }
  }

  /** A host reports a change of an allocation. */
  reported(report: AllocationReport, previous: AllocationReport | undefined): void {
    const { state, faultWatch, hostEvents } = this.#deps;
    state.names.reported(report);
    faultWatch.report(report);
    this.#jobChanged(`${report.namespace}/${report.job}`);
    hostEvents.report(report, previous, state.follower.view.host(report.host));
  }

  /** A host has forgotten an allocation. */
  gone(previous: AllocationReport): void {
    const { state, faultWatch } = this.#deps;
    state.names.gone(previous);
    faultWatch.gone(previous);
    this.#jobChanged(`${previous.namespace}/${previous.job}`);
  }

  /** A host began or ceased to report. */
  host(freshness: HostFreshness, what: HostChange): void {
    const { state, clocks, hostEvents } = this.#deps;
    state.relay.onHost(freshness, what);
    state.names.hostChanged(freshness.host);
    hostEvents.host(freshness, what);
    if (what === 'silent' || what === 'left') clocks.forget(freshness.host);
  }

  #useProviders(): void {
    const { state, people } = this.#deps;
    void people?.use([...state.copy.openid.rows()].map(([, { value }]) => value));
  }

  #hostChanged(host: string): void {
    const { statuses, names } = this.#deps.state;
    statuses.changedAll();
    names.hostChanged(host);
  }

  #jobChanged(jobKey: string): void {
    const { statuses, jobChanges } = this.#deps.state;
    statuses.changed(jobKey);
    jobChanges.wake(jobKey);
  }

  #refreshSoon(): void {
    if (this.#refreshScheduled) return;
    this.#refreshScheduled = true;
    queueMicrotask(() => {
      this.#refreshScheduled = false;
      const { state, schedulerWatch } = this.#deps;
      state.follower.refresh();
      const schedulers = new Map<string, string>();
      for (const [, { value, createRevision }] of state.copy.roles.rows())
        // A restarted scheduler counts its events from the beginning.
        if (value.kind === 'scheduler')
          schedulers.set(`${value.id}@${String(createRevision)}`, value.address);
      schedulerWatch.refresh(schedulers);
    });
  }
}
