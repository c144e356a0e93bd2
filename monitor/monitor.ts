import { HostClient } from '../src/clients/host-client.ts';
import type { Job } from '../src/core/cell/job.ts';
import { cellKeys } from '../src/core/cell/keys.ts';
import { LedgerBook } from '../src/core/commit/ledger-book.ts';
import type { AllocationReport } from '../src/core/host/report.ts';
import type { CellStore } from '../src/ports/cell-store.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { ChannelClient, HttpClient, HttpListener, HttpServer, Route } from '../src/ports/http.ts';
import type { Random } from '../src/ports/random.ts';
import type { StoreUpkeep } from '../src/ports/store-upkeep.ts';
import type { Log, Metrics } from '../src/ports/telemetry.ts';
import type { HostChange, HostFreshness } from '../src/runtime/reports/cell-view.ts';
import { Committer } from '../src/runtime/commit/commit.ts';
import { ReportFollower } from '../src/runtime/reports/reports.ts';
import type { CellEvent, SubmitAnswer } from '../src/wire/api/monitor-api.ts';
import { REVISION_HEADER } from '../src/wire/api/monitor-api.ts';
import { BulkWrites } from './jobs/bulk-writes.ts';
import type { CellChange } from './view/view.ts';
import { CellCopy } from './view/view.ts';
import { eventOfChange, eventOfScheduler } from './events/cell-events.ts';
import type { LazyEvent } from './events/events.ts';
import { EventLog } from './events/events.ts';
import { HostEvents } from './events/host-events.ts';
import { HostWatch, LOST_AFTER_MS } from './hosts/hosts.ts';
import { JobStatuses } from './jobs/jobs.ts';
import { JobChanges } from './jobs/job-changes.ts';
import { JobWrites } from './jobs/job-writes.ts';
import { LeakWatch } from './hosts/leak-watch.ts';
import { LogRelay } from './runs/log-relay.ts';
import type { MonitorState } from './api/monitor-state.ts';
import type { ReaperTimes } from './reaper/reaper.ts';
import { Reaper, REAPER_TIMES } from './reaper/reaper.ts';
import { guarded } from './refusals.ts';
import { Registration } from './store/registration.ts';
import { ReportRelay } from './view/report-relay.ts';
import { attachChannels, attachRoutes } from './api/attach-routes.ts';
import { cellRoutes } from './api/cell-routes.ts';
import { healthRoutes } from './api/health-routes.ts';
import { hostRoutes } from './api/host-routes.ts';
import { schemaRoutes } from './api/schema-routes.ts';
import { jobRoutes } from './api/job-routes.ts';
import { quotaRoutes } from './api/quota-routes.ts';
import { streamRoutes } from './api/stream-routes.ts';
import { Runs } from './runs/runs.ts';
import { SchedulerEvents } from './events/scheduler-events.ts';
import type { StoreKeeperOptions } from './store/store.ts';
import { StoreKeeper } from './store/store.ts';
import { EligibilityWriter } from './hosts/eligibility.ts';
import { SchedulerQueries } from './jobs/why.ts';

export interface MonitorDeps {
  readonly cell: string;
  readonly id: string;
  readonly version: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly store: CellStore;
  readonly http: HttpClient;
  readonly server: HttpServer;
  /** Absent: nobody is attached through this monitor. */
  readonly channels?: ChannelClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Recovery delay from the end of a host's session to the verdict `lost`. Default 30 s. */
  readonly lostAfterMs?: number;
  /** Silence after which a host counts as stale. Default 3 s. */
  readonly silenceMs?: number;
  readonly reaper?: Partial<ReaperTimes>;
  /** Absent: somebody else looks after the store's database. */
  readonly upkeep?: { readonly store: StoreUpkeep; readonly options: StoreKeeperOptions };
}

/** Job files are at most 60 KiB. */
const BODY_BYTES_MAX = 64 * 1024;
/** Streams are told to end first; what is left after this is cut. */
const CLOSE_GRACE_MS = 2_000;

/** One monitor: it owns nothing, and losing it loses nothing. */
export class Monitor {
  readonly state: MonitorState;
  readonly hostWatch: HostWatch;
  readonly leakWatch: LeakWatch;
  readonly reaper: Reaper;
  /** null: it looks after no database. */
  readonly keeper: StoreKeeper | null;
  readonly #deps: MonitorDeps;
  readonly #schedulerWatch: SchedulerEvents;
  readonly #ledgers = new LedgerBook();
  readonly #news: HostEvents;
  #listener: HttpListener | null = null;
  #registration: Registration | null = null;
  #refreshIsDue = false;

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
    this.#news = new HostEvents(deps.id, deps.clock, (event) => this.#tell(event));
    this.state = this.#makeState();
    this.#schedulerWatch = new SchedulerEvents({
      ...deps,
      onEvent: (event) => this.#tell(eventOfScheduler(event)),
    });
    this.hostWatch = new HostWatch({
      ...this.state,
      view: this.state.follower.view,
      self: deps.id,
      lostAfterMs: deps.lostAfterMs ?? LOST_AFTER_MS,
      onHeldBack: (hosts) => this.#news.heldBack(hosts),
    });
    this.leakWatch = new LeakWatch({ ...this.state, self: deps.id });
    this.keeper = this.#makeKeeper();
    const committer = this.#makeCommitter();
    this.reaper = new Reaper({
      ...this.state,
      view: this.state.follower.view,
      self: deps.id,
      times: { ...REAPER_TIMES, ...deps.reaper },
      random: deps.random,
      release: (releases) =>
        committer.commit({
          id: `reap-${releases[0]?.allocation.id ?? ''}`,
          ...{ atomicity: 'incremental', places: [], evictions: [], releases },
        }),
    });
  }

  #makeKeeper(): StoreKeeper | null {
    const { upkeep, id: self } = this.#deps;
    if (upkeep === undefined) return null;
    return new StoreKeeper({ ...this.state, self, upkeep: upkeep.store, options: upkeep.options });
  }

  /** Serves at once: with what it knows, and `incomplete` until it knows enough. */
  async start(): Promise<HttpListener> {
    const { server, listen, channels } = this.#deps;
    const listener = await server.listen(monitorRoutes(this.state, this.keeper), {
      ...listen,
      bodyBytesMax: BODY_BYTES_MAX,
      ...(channels === undefined ? {} : { channels: attachChannels(this.state, channels) }),
    });
    this.#listener = listener;
    this.#registration = new Registration({
      ...this.#deps,
      keys: this.state.keys,
      record: {
        kind: 'monitor',
        id: this.#deps.id,
        address: listener.address,
        version: this.#deps.version,
        policy: '',
        startedAtMs: this.state.startedAtMs,
      },
    });
    return listener;
  }

  async close(): Promise<void> {
    await this.#registration?.close();
    this.hostWatch.close();
    this.leakWatch.close();
    this.state.events.close();
    this.state.relay.close();
    await this.#listener?.close(CLOSE_GRACE_MS);
    await Promise.all([
      this.keeper?.close(),
      this.reaper.close(),
      this.#schedulerWatch.close(),
      this.state.follower.close(),
    ]);
    this.state.copy.close();
  }

  #makeState(): MonitorState {
    const { store, clock, random, log, metrics, http, id, version } = this.#deps;
    const keys = cellKeys(this.#deps.cell);
    const follower = this.#makeFollower();
    const copy = new CellCopy(store, keys, log, {
      onChange: (change, listed) => this.#onChange(change, listed),
      onGap: (revision, first) =>
        this.state.events.missed(revision, 'the watch of the store was interrupted', first),
      onReplaced: () => this.#onReplaced(),
    });
    const book = new JobStatuses(copy, follower.view);
    const watch = new JobChanges();
    const hosts = new HostClient(http);
    const writes = new JobWrites({ store, keys, clock });
    const submit = (job: Job): Promise<SubmitAnswer> => writes.submit(job, { ifMatch: null });
    return {
      ...{ id, version, startedAtMs: clock.nowMs(), store, keys, clock, log, metrics },
      ...{ copy, follower, statuses: book, jobChanges: watch, hosts },
      writes,
      bulk: new BulkWrites({ store, keys, clock, submit }),
      runs: new Runs({ store, keys, clock, random }),
      eligibility: new EligibilityWriter({ store, keys, clock }),
      relay: new ReportRelay(follower, clock),
      logs: new LogRelay({
        ...{ copy, view: follower.view, watch, hosts, clock, random },
        hasEnded: (jobKey) => copy.jobs.get(jobKey) === undefined || book.exit(jobKey) !== null,
      }),
      events: new EventLog(id, clock, () => copy.revision),
      schedulers: new SchedulerQueries(copy, http),
    };
  }

  #makeFollower(): ReportFollower {
    const { http, clock, random, log, metrics, silenceMs } = this.#deps;
    return new ReportFollower({
      ...{ http, clock, random, log },
      sources: () =>
        [...this.state.copy.hosts.rows()].map(([name, row]) => ({ name, url: row.value.address })),
      handlers: {
        onReport: (report, previous) => this.#onReport(report, previous),
        onGone: (previous) => this.#jobChanged(`${previous.namespace}/${previous.job}`),
        onHost: (sight, what) => this.#onHost(sight, what),
        onMessage: (message) => {
          metrics.count('moorage_monitor_reports_total', { kind: message.kind });
          this.state.relay.onMessage(message);
        },
        onComplete: () => this.state.relay.onComplete(),
      },
      options: { mode: 'all', ...(silenceMs === undefined ? {} : { silenceMs }) },
    });
  }

  #makeCommitter(): Committer {
    const { store, keys, clock, log, metrics, copy } = this.state;
    return new Committer({
      ...{ store, keys, clock, log, metrics, random: this.#deps.random },
      book: this.#ledgers,
      hostOf: (id) => copy.hosts.get(id)?.value,
      // A monitor owns no job and places nothing: it only gives back what is over.
      ownerRevisionOf: () => undefined,
      session: () => this.#registration?.session ?? AbortSignal.abort(),
      options: { conflictCheck: 'resource-fit', inFlightMax: 2, rebasesMax: 8 },
    });
  }

  #onReplaced(): void {
    const { copy, statuses: book } = this.state;
    for (const [host, row] of copy.ledgers.rows()) this.#ledgers.observe(host, row.value, row.modRevision);
    book.changedAll();
    this.#refreshSoon();
  }

  #onChange(change: CellChange, listed: boolean): void {
    const { clock, id } = this.#deps;
    this.#tell(eventOfChange(change, clock.nowMs(), listed ? id : null));
    switch (change.room) {
      case 'ledgers':
        this.#ledgers.observe(
          change.name,
          change.now?.value ?? null,
          change.now?.modRevision ?? change.revision,
        );
        break;
      case 'hosts':
      case 'eligibility':
        this.state.statuses.changedAll();
        this.#refreshSoon();
        break;
      case 'alive':
        if ((change.now === undefined) !== (change.before === undefined)) this.state.statuses.changedAll();
        break;
      case 'roles':
        this.#refreshSoon();
        break;
      case 'jobs':
      case 'owners':
        this.#jobChanged(change.name);
        break;
      case 'allocations':
      case 'intents':
      case 'outcomes':
      case 'versions':
        this.#jobChanged(change.name.slice(0, change.name.lastIndexOf('/')));
        break;
      case 'runs':
      case 'shared':
      case 'pools':
      case 'meta':
        break;
    }
  }

  #jobChanged(jobKey: string): void {
    this.state.statuses.changed(jobKey);
    this.state.jobChanges.wake(jobKey);
  }

  /** Once for all changes that come together. */
  #refreshSoon(): void {
    if (this.#refreshIsDue) return;
    this.#refreshIsDue = true;
    queueMicrotask(() => {
      this.#refreshIsDue = false;
      this.state.follower.refresh();
      const schedulers = new Map<string, string>();
      for (const [, { value, createRevision }] of this.state.copy.roles.rows())
        // A scheduler that starts anew counts its events anew.
        if (value.kind === 'scheduler')
          schedulers.set(`${value.id}@${String(createRevision)}`, value.address);
      this.#schedulerWatch.refresh(schedulers);
    });
  }

  #onReport(report: AllocationReport, previous: AllocationReport | undefined): void {
    this.#jobChanged(`${report.namespace}/${report.job}`);
    this.#news.report(report, previous, this.state.follower.view.host(report.host));
  }

  #onHost(sight: HostFreshness, what: HostChange): void {
    this.state.relay.onHost(sight, what);
    this.#news.host(sight, what);
  }

  #tell(event: CellEvent | LazyEvent | null): void {
    if (event !== null) this.state.events.add(event);
  }
}

/** All routes, each with what is common to all answers. */
function monitorRoutes(state: MonitorState, keeper: StoreKeeper | null): Route[] {
  const routes = [
    ...jobRoutes(state),
    ...hostRoutes(state),
    ...cellRoutes(state, keeper),
    ...quotaRoutes(state),
    ...streamRoutes(state),
    ...attachRoutes(state),
    ...healthRoutes(state),
    ...schemaRoutes(),
  ];
  return routes.map((route) => ({
    ...route,
    handle: guarded(async (request) => {
      const reply = await route.handle(request);
      return { ...reply, headers: { [REVISION_HEADER]: String(state.copy.revision), ...reply.headers } };
    }),
  }));
}
