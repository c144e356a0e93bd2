/**
 * One monitor: it merges what hosts report, and serves the API that people use. It owns nothing: losing it loses nothing.
 *
 * - `view/`: copies of the store and of the hosts' reports, and their relay to other roles
 * - `hosts/`: declares hosts lost, drains leaking ones, writes eligibility, deletes removed ones
 * - `jobs/`: job status and usage, submissions, versions, reverts and stops
 * - `runs/`: one-off runs and output
 * - `names/`: the names of what runs, and who serves them
 * - `limits/`: quotas, shared resources, volumes and pauses
 * - `tokens/`: people's tokens, OpenID providers, hosts that may join, secrets of jobs; `audit/`: who did what
 * - `events/`: what happened in the cell
 * - `reaper/`: finishes what has no owner, deletes old records
 * - `detector/`: who is at fault when much fails, and what is done about it
 * - `alarms/`: what somebody should look at
 * - `store/`: this monitor's registration, and upkeep of the store's database
 * - `api/`: routes; `page/`: the page that people see
 *
 * `monitor.ts` ties them together, on a `context.ts` that they share; `changes.ts` tells each of them what is new; `refusals.ts` are the API's answers to what cannot be
 * done. `main.ts` runs a monitor on this machine.
 */
import { Delegator } from '../src/clients/delegator.ts';
import { HostClient } from '../src/clients/host-client.ts';
import { invitationIdOf } from '../src/core/access/invitation.ts';
import { isJsonWebToken } from '../src/core/access/openid.ts';
import { cellKeys } from '../src/core/cell/keys.ts';
import { LedgerBook } from '../src/core/commit/ledger-book.ts';
import type { Digest, SignDelegation } from '../src/ports/crypto.ts';
import type { AdmitToken, ChannelClient, HttpClient, HttpListener, HttpServer } from '../src/ports/http.ts';
import type { OpenIdTokens } from '../src/ports/openid.ts';
import type { PageFiles } from '../src/ports/page.ts';
import type { StoreUpkeep } from '../src/ports/store-upkeep.ts';
import type { CellEvent } from '../src/wire/api/monitor-api.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import { Committer } from '../src/runtime/commit/commit.ts';
import { ReportFollower } from '../src/runtime/reports/reports.ts';
import { Changes } from './changes.ts';
import type { BulkWritesDeps } from './jobs/bulk-writes.ts';
import { BulkWrites } from './jobs/bulk-writes.ts';
import { CellCopy } from './view/view.ts';
import { isOfMonitor, peersOf } from './view/monitors.ts';
import { eventOfScheduler } from './events/cell-events.ts';
import type { LazyEvent } from './events/events.ts';
import { EventLog } from './events/events.ts';
import { HostEvents } from './events/host-events.ts';
import { RemovedHosts } from './hosts/removed-hosts.ts';
import { SilentHosts } from './hosts/silent-hosts.ts';
import { HostWatch, LOST_AFTER_MS } from './hosts/hosts.ts';
import { JobStatuses } from './jobs/jobs.ts';
import { JobChanges } from './jobs/job-changes.ts';
import { JobWrites } from './jobs/job-writes.ts';
import { LeakWatch } from './hosts/leak-watch.ts';
import { ServiceNames } from './names/names.ts';
import { PauseWatch } from './limits/pauses.ts';
import { LogRelay } from './runs/log-relay.ts';
import type { MonitorState } from './api/monitor-state.ts';
import type { ReaperLimits } from './reaper/reaper-limits.ts';
import { REAPER_LIMITS } from './reaper/reaper-limits.ts';
import { Reaper } from './reaper/reaper.ts';
import { Budgets } from '../src/runtime/records/budgets.ts';
import { Registration } from './store/registration.ts';
import { ReportRelay } from './view/report-relay.ts';
import { monitorRoutes } from './api/api.ts';
import { attachChannels } from './api/attach-routes.ts';
import { Runs } from './runs/runs.ts';
import { SchedulerEvents } from './events/scheduler-events.ts';
import type { StoreKeeperOptions } from './store/store.ts';
import { StoreKeeper } from './store/store.ts';
import { Audit } from './audit/audit.ts';
import { HeldTokens } from './tokens/held-tokens.ts';
import { Invitations } from './tokens/invitations.ts';
import { OpenIdPeople } from './tokens/openid-people.ts';
import { NO_KEYS, OpenIdProviders } from './tokens/openid-providers.ts';
import { Secrets } from './tokens/secrets.ts';
import { Tokens } from './tokens/tokens.ts';
import { DrainWindows } from './hosts/drain-windows.ts';
import type { FencingOptions } from './hosts/fencing.ts';
import { Fencing } from './hosts/fencing.ts';
import { EligibilityWriter } from './hosts/eligibility.ts';
import { ALARM_AFTER_MS, AlarmWatch } from './alarms/alarms.ts';
import { HostClocks } from './alarms/host-clocks.ts';
import { FaultWatch } from './detector/detector.ts';
import { AutoRevert } from './jobs/auto-revert.ts';
import { JobVersions } from './jobs/versions.ts';
import { Plans } from './jobs/plans.ts';
import { SchedulerQueries, standingOf } from './jobs/why.ts';

export interface MonitorDeps extends Omit<RolePorts, 'keys'> {
  readonly digest: Digest;
  /** The certificate of the key to which secrets are sealed; null: there is none here. */
  readonly hostKey?: () => string | null;
  /** Absent: hosts trust whoever reaches them. */
  readonly delegate?: SignDelegation;
  /** Absent: tokens of OpenID providers do not count. */
  readonly openid?: OpenIdTokens;
  /** Name of the cell: all its keys lie under `/moorage/<cell>/`. */
  readonly cell: string;
  readonly id: string;
  readonly version: string;
  /** Port 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly http: HttpClient;
  readonly server: HttpServer;
  /** Absent: this monitor serves no attach sessions. */
  readonly channels?: ChannelClient;
  /** From the end of a host's session until it is declared lost. Default 18 s. */
  readonly lostAfterMs?: number;
  /** The same for hosts that vanished together. Default: three times `lostAfterMs`. */
  readonly massLossWaitMs?: number;
  /** Silence after which a host counts as stale. Default 3 s. */
  readonly silenceMs?: number;
  /** So many hosts have a report stream; the others count as silent. Default: no limit. */
  readonly hostsMax?: number;
  readonly reaper?: Partial<ReaperLimits>;
  /** How long a job may wait, stop or loop before it is an alarm. Default 10 minutes. */
  readonly alarmAfterMs?: number;
  /** Programs that fence lost hosts. Absent: none. */
  readonly fencing?: FencingOptions;
  /** Absent: it serves no page. */
  readonly page?: PageFiles;
  /** Absent: another program maintains the store's database. */
  readonly upkeep?: { readonly store: StoreUpkeep; readonly options: StoreKeeperOptions };
}

/** Job files are at most 60 KiB. */
const BODY_BYTES_MAX = 64 * 1024;
/** Streams are ended first; what is still open after this is cut. */
const CLOSE_GRACE_MS = 2_000;

export class Monitor {
  readonly state: MonitorState;
  readonly hostWatch: HostWatch;
  readonly leakWatch: LeakWatch;
  readonly drainWindows: DrainWindows;
  readonly removedHosts: RemovedHosts;
  /** null: it has no program that fences hosts. */
  readonly fencing: Fencing | null;
  readonly pauseWatch: PauseWatch;
  readonly autoRevert: AutoRevert;
  readonly faultWatch: FaultWatch;
  readonly alarms: AlarmWatch;
  readonly reaper: Reaper;
  readonly #budgets: Budgets;
  /** null: it maintains no database. */
  readonly keeper: StoreKeeper | null;
  readonly #deps: MonitorDeps;
  readonly #schedulerWatch: SchedulerEvents;
  readonly #ledgers = new LedgerBook();
  readonly #clocks = new HostClocks();
  /** null: tokens of OpenID providers do not count. */
  readonly #people: OpenIdPeople | null;
  readonly #changes: Changes;
  #listener: HttpListener | null = null;
  #registration: Registration | null = null;

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
    const { openid, clock, digest } = deps;
    this.#people = openid === undefined ? null : new OpenIdPeople({ openid, clock, digest });
    this.state = this.#makeState();
    const addEvent = (event: CellEvent | LazyEvent | null): void => {
      if (event !== null) this.state.events.add(event);
    };
    this.#schedulerWatch = new SchedulerEvents({
      ...deps,
      onEvent: (event) => {
        this.faultWatch.refused(event);
        addEvent(eventOfScheduler(event));
      },
    });
    const hostEvents = new HostEvents(deps.id, deps.clock, addEvent);
    this.hostWatch = new HostWatch({
      ...this.state,
      view: this.state.follower.view,
      lostAfterMs: deps.lostAfterMs ?? LOST_AFTER_MS,
      ...(deps.massLossWaitMs === undefined ? {} : { massLossWaitMs: deps.massLossWaitMs }),
      onHeldBack: (hosts) => hostEvents.heldBack(hosts),
    });
    this.leakWatch = new LeakWatch(this.state);
    this.drainWindows = new DrainWindows(this.state);
    this.removedHosts = new RemovedHosts(this.state);
    this.fencing = deps.fencing === undefined ? null : new Fencing({ ...this.state, ...deps.fencing });
    this.pauseWatch = new PauseWatch(this.state);
    this.autoRevert = new AutoRevert(this.state);
    this.faultWatch = new FaultWatch(this.state);
    this.#changes = new Changes({
      ...{ state: this.state, ledgers: this.#ledgers, faultWatch: this.faultWatch, clocks: this.#clocks },
      ...{ hostEvents, schedulerWatch: this.#schedulerWatch, people: this.#people },
    });
    this.keeper =
      deps.upkeep === undefined
        ? null
        : new StoreKeeper({ ...this.state, upkeep: deps.upkeep.store, options: deps.upkeep.options });
    this.alarms = this.#makeAlarms();
    const committer = this.#makeCommitter();
    this.#budgets = new Budgets(this.state, {
      wake: () => undefined,
      hostOf: (host) => this.state.copy.hostOf(host),
      policy: this.state.copy.budgets,
    });
    this.reaper = new Reaper({
      ...this.state,
      budgets: this.#budgets,
      view: this.state.follower.view,
      limits: { ...REAPER_LIMITS, ...deps.reaper },
      release: (releases) =>
        committer.commit({
          id: `reap-${releases[0]?.allocation.id ?? ''}`,
          ...{ atomicity: 'incremental', places: [], evictions: [], releases },
        }),
    });
  }

  /** Serves at once: answers say `incomplete` until every host has reported or timed out. */
  async start(): Promise<HttpListener> {
    const { server, listen, channels } = this.#deps;
    const listener = await server.listen(monitorRoutes(this.state, this.keeper), {
      ...listen,
      bodyBytesMax: BODY_BYTES_MAX,
      admit: (text) => this.#admit(text),
      isKnownOrigin: (origin) => isOfMonitor(this.state.copy, origin),
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
    this.drainWindows.close();
    this.fencing?.close();
    this.#budgets.close();
    this.state.events.close();
    this.state.relay.close();
    this.state.names.close();
    this.state.heldTokens.close();
    await this.#people?.close();
    await this.#listener?.close(CLOSE_GRACE_MS);
    await Promise.all([
      this.keeper?.close(),
      this.state.audit.close(),
      this.removedHosts.close(),
      this.pauseWatch.close(),
      this.autoRevert.close(),
      this.faultWatch.close(),
      this.alarms.close(),
      this.reaper.close(),
      this.#schedulerWatch.close(),
      this.state.follower.close(),
    ]);
    this.state.copy.close();
  }

  /** What the cell made itself is told by its head. */
  #admit(text: string): ReturnType<AdmitToken> {
    const { invitations, heldTokens } = this.state;
    if (invitationIdOf(text) !== null) return invitations.admit(text);
    const isOther = this.#people !== null && isJsonWebToken(text);
    return isOther ? this.#people.admit(text) : heldTokens.admit(text);
  }

  #makeState(): MonitorState {
    const { cell, store, clock, random, log, metrics, tracer, http, digest, id, version } = this.#deps;
    const keys = cellKeys(cell);
    const tokenDeps = { store, keys, clock, random, log, digest };
    const follower = this.#makeFollower();
    const copy = new CellCopy(store, keys, log, {
      onChange: (change, listed) => this.#changes.changed(change, listed),
      onGap: (revision, first) =>
        this.state.events.missed(revision, 'the watch of the store was interrupted', first),
      onReplaced: () => this.#changes.replaced(),
    });
    const statuses = new JobStatuses(copy, follower.view);
    const jobChanges = new JobChanges();
    const { delegate: sign } = this.#deps;
    const delegated = sign === undefined ? {} : { delegator: new Delegator({ sign, digest, clock }) };
    const hosts = new HostClient(http, delegated);
    const writes = new JobWrites({ store, keys, clock });
    const verdictOf = (host: string) => this.hostWatch.verdictOf(host);
    const kept = () => this.reaper.kept();
    const alarms = () => this.alarms.standing();
    const submit: BulkWritesDeps['submit'] = (job, traceparent) =>
      writes.submit(job, { ifMatch: null, traceparent });
    return {
      ...{ self: id, cell, version, startedAtMs: clock.nowMs(), store, keys, clock, random, log, metrics },
      ...(tracer === undefined ? {} : { tracer }),
      ...{ copy, follower, statuses, jobChanges, hosts, kept, alarms },
      writes,
      versions: new JobVersions(copy),
      bulk: new BulkWrites({ store, keys, clock, submit }),
      runs: new Runs({ store, keys, clock, random }),
      eligibility: new EligibilityWriter({ store, keys, clock }),
      silentHosts: new SilentHosts({ copy, clock, view: follower.view, verdictOf }),
      storeAwaySinceMs: () => this.#registration?.storeAwaySinceMs ?? null,
      verdictOf,
      relay: new ReportRelay(follower, clock),
      names: new ServiceNames({ copy, view: follower.view, clock }),
      logs: new LogRelay({
        ...{ copy, view: follower.view, jobChanges, hosts, clock, random },
        hasEnded: (jobKey) => copy.jobs.get(jobKey) === undefined || statuses.exit(jobKey) !== null,
      }),
      events: new EventLog(id, clock, () => copy.revision),
      schedulers: new SchedulerQueries(copy, http),
      plans: new Plans(copy, http),
      tokens: new Tokens(tokenDeps),
      secrets: new Secrets(tokenDeps),
      openid: new OpenIdProviders({
        ...{ ...tokenDeps, copy },
        keysOf: (issuer) => this.#deps.openid?.keysOf(issuer) ?? NO_KEYS,
      }),
      hostKey: this.#deps.hostKey ?? (() => null),
      heldTokens: new HeldTokens(tokenDeps),
      invitations: new Invitations(tokenDeps),
      page: this.#deps.page ?? new Map(),
      audit: new Audit({ store, keys, clock, random, log, self: id }),
    };
  }

  #makeFollower(): ReportFollower {
    const { id, http, clock, random, log, metrics, silenceMs, hostsMax } = this.#deps;
    return new ReportFollower({
      ...{ http, clock, random, log },
      sources: () =>
        [...this.state.copy.hosts.rows()].map(([name, row]) => ({ name, url: row.value.address })),
      handlers: {
        onReport: (report, previous) => this.#changes.reported(report, previous),
        onGone: (previous) => this.#changes.gone(previous),
        onHost: (freshness, what) => this.#changes.host(freshness, what),
        onMessage: (message) => {
          metrics.count('moorage_monitor_reports_total', { kind: message.kind });
          this.state.relay.onMessage(message);
        },
        onDirect: (message, begins) => this.state.relay.onDirect(message, begins),
        onDirectEnd: (host, silentMs) => this.state.relay.onDirectEnd(host, silentMs),
        onComplete: () => {
          this.state.relay.onComplete();
          this.state.names.completed();
        },
      },
      options: {
        ...{ mode: 'all', streamsMax: hostsMax, onUnfollowed: (hosts) => this.#onUnfollowed(hosts) },
        ...(silenceMs === undefined ? {} : { silenceMs }),
        onClock: (host, aheadMs) => this.#clocks.heard(host, aheadMs),
        share: { self: id, peers: () => peersOf(this.state.copy, id) },
      },
    });
  }

  #makeAlarms(): AlarmWatch {
    const { state } = this;
    return new AlarmWatch({
      ...state,
      clocks: this.#clocks,
      keeper: () => this.keeper,
      reasonOf: async (jobKey) => {
        const record = state.copy.jobs.get(jobKey)?.value;
        const standing = standingOf(state, jobKey);
        if (record === undefined || standing === null) return null;
        return (await state.schedulers.why(jobKey, record, standing)).summary;
      },
      onEvent: (event) => state.events.add(event),
      afterMs: this.#deps.alarmAfterMs ?? ALARM_AFTER_MS,
    });
  }

  #onUnfollowed(hosts: number): void {
    const { log, metrics, hostsMax } = this.#deps;
    metrics.gauge('moorage_monitor_unfollowed_hosts', hosts);
    if (hosts === 0) log.info({ hostsMax }, 'every host is followed again');
    else
      log.warn(
        { unfollowed: hosts, hostsMax },
        `the limit of open files allows ${String(hostsMax)} hosts; ${String(hosts)} more count as silent here: raise it (ulimit -n, LimitNOFILE)`,
      );
  }

  #makeCommitter(): Committer {
    return new Committer({
      ...this.state,
      book: this.#ledgers,
      hostOf: (id) => this.state.copy.hostOf(id),
      // A monitor owns no job and places nothing: it only commits releases.
      ownerRevisionOf: () => undefined,
      session: () => this.#registration?.session ?? AbortSignal.abort(),
      options: { conflictCheck: 'resource-fit', inFlightMax: 2, rebasesMax: 8 },
    });
  }
}
