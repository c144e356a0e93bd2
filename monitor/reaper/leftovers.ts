import type { HostClient, StopOutcome } from '../../src/clients/host-client.ts';
import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Epoch } from '../../src/core/cell/epoch.ts';
import type { Release } from '../../src/core/commit/plan.ts';
import { isTerminal, OBSERVED_RANK } from '../../src/core/host/states.ts';
import { forgottenOutcome, outcomeOf } from '../../src/core/slots/outcomes.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
import type { StopRequest } from '../../src/wire/api/host-api.ts';
import { allocationCodec } from '../../src/wire/records/records.ts';
import type { MonitorContext } from '../context.ts';
import type { Row } from '../view/record-cache.ts';

export interface LeftoversDeps extends MonitorContext {
  readonly view: CellView;
  readonly hosts: HostClient;
  /** See `ReaperTimes`. */
  readonly times: { readonly orphanMs: number };
  /** Commits releases: the record and the claim go, the outcome is written, in one transaction a host. */
  release(releases: readonly Release[]): Promise<unknown>;
}

/** How an allocation ended whose host was lost for the orphan time: on the host it may run on. */
const GIVEN_UP = 'host-lost';

/** Brings the allocations of jobs without an owner to their end, one step a sweep. */
export class Leftovers {
  readonly #deps: LeftoversDeps;

  constructor(deps: LeftoversDeps) {
    this.#deps = deps;
  }

  /** @param hasRecord the job was stopped; false: its record is gone */
  async finish(jobKey: string, hasRecord: boolean): Promise<void> {
    const { copy } = this.#deps;
    // In a restored store the record may be lost, not deleted: absence stops nothing.
    const mayStop = hasRecord || copy.meta.get('')?.value.restoredAtMs === undefined;
    for (const row of copy.allocationsByJob.of(jobKey).values()) await this.#finish(row, mayStop);
    for (const { value } of copy.outcomesByJob.of(jobKey).values()) await this.#stopReturned(value);
  }

  async #finish(row: Row<Allocation>, mayStop: boolean): Promise<void> {
    const { value: allocation, modRevision: revision } = row;
    const { view, copy, clock, times } = this.#deps;
    const report = view.get(allocation.host, allocation.id);
    if (report !== undefined && report.released && isTerminal(report.state))
      return this.#release({ allocation, revision, outcome: outcomeOf(allocation, report, clock.nowMs()) });
    const freshness = view.host(allocation.host);
    if (freshness === undefined || freshness.staleSinceMs !== null) {
      const isLost = copy.eligibility.get(allocation.host)?.value.state === 'lost';
      const silentMs = clock.nowMs() - (freshness?.staleSinceMs ?? clock.nowMs());
      if (!isLost || silentMs < times.orphanMs) return;
      const outcome = forgottenOutcome(allocation, GIVEN_UP, clock.nowMs());
      return this.#release({ allocation, revision, outcome });
    }
    if (allocation.desired !== 'run') return this.#stopOnHost(row);
    if (mayStop) await this.#writeStop(row);
  }

  async #writeStop({ value, modRevision }: Row<Allocation>): Promise<void> {
    const { store, keys } = this.#deps;
    const key = keys.allocation(value.namespace, value.job, value.id);
    const wanted: Allocation = { ...value, desired: 'stop', cause: 'stopped by user' };
    await store.attempt({
      compares: [{ key, target: 'modRevision', equals: modRevision }],
      writes: [{ kind: 'put', key, value: allocationCodec.encode(wanted) }],
      readBack: [],
    });
    this.#count('stop');
  }

  /**
   * Its host was lost for the orphan time, its capacity was given to another allocation, and the host is back with it. The
   * durable outcome stops it, not the absence of its record.
   */
  async #stopReturned({ allocation: id, host, exit }: Outcome): Promise<void> {
    const { view } = this.#deps;
    if (exit?.lost !== GIVEN_UP || !isReporting(view, host)) return;
    const report = view.get(host, id);
    if (report === undefined || OBSERVED_RANK[report.state] >= OBSERVED_RANK.stopping) return;
    await this.#orderStop(
      { id, host, epoch: null },
      'stop',
      'its place was given up while its host was lost',
    );
    this.#count('returned');
  }

  async #stopOnHost({ value: allocation, modRevision: revision }: Row<Allocation>): Promise<void> {
    const mode = allocation.desired === 'run' ? 'stop' : allocation.desired;
    const answer = await this.#orderStop(allocation, mode, allocation.cause ?? 'its job has no owner');
    if (answer?.kind !== 'absent') return;
    // The host never had it, and from now on refuses to start it.
    const outcome = forgottenOutcome(allocation, 'never-started', this.#deps.clock.nowMs());
    await this.#release({ allocation, revision, outcome });
  }

  /** @param what `epoch`: of its placing; null: not known any more @returns null when the host is not registered */
  async #orderStop(
    what: { readonly id: string; readonly host: string; readonly epoch: Epoch | null },
    mode: StopRequest['mode'],
    cause: string,
  ): Promise<StopOutcome | null> {
    const { hosts, copy, log } = this.#deps;
    const { id, host } = what;
    const address = copy.hosts.get(host)?.value.address;
    // The cell's present incarnation: a host that knows of a restore refuses orders from before it.
    const incarnation = copy.meta.get('')?.value.incarnation ?? what.epoch?.incarnation;
    if (address === undefined || incarnation === undefined) return null;
    const epoch = { incarnation, counter: this.#counterFor(host, what.epoch) };
    const answer = await hosts.stop(address, id, { commandId: `${id}-reap`, epoch, mode, cause });
    if (answer.kind === 'refused') log.warn({ allocation: id, host, ...answer }, 'a host refused to stop');
    return answer;
  }

  /** The present counter: a host that knows a later eligibility change refuses the epoch of the placing. */
  #counterFor(host: string, epoch: Epoch | null): number {
    const { copy } = this.#deps;
    const eligibility = copy.eligibility.get(host)?.value.counter ?? 0;
    return Math.max(eligibility, copy.ledgers.get(host)?.value.counter ?? 0, epoch?.counter ?? 0);
  }

  async #release(release: Release): Promise<void> {
    await this.#deps.release([release]);
    this.#count('release');
  }

  #count(what: string): void {
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what });
  }
}
