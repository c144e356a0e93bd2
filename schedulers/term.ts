import { ArbiterClient } from '../src/clients/arbiter-client.ts';
import { HostClient } from '../src/clients/host-client.ts';
import { slotName } from '../src/core/ids.ts';
import type { Switches } from '../src/core/limits.ts';
import type { Eviction, Plan, PlanOutcome } from '../src/core/plan.ts';
import type { AllocationReport } from '../src/core/report.ts';
import type { Todo } from '../src/core/slot-view.ts';
import { isTerminal, OBSERVED_RANK } from '../src/core/states.ts';
import { outcomeOf } from '../src/core/outcome-of.ts';
import type { Session } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import { Committer } from '../src/runtime/committer.ts';
import type { ReportSource } from '../src/runtime/report-follower.ts';
import { sleep } from '../src/runtime/sleep.ts';
import { Table } from '../src/runtime/table.ts';
import type { SchedulerEventKind } from '../src/wire/scheduler-api.ts';
import { switchesCodec } from '../src/wire/records.ts';
import { PrivateCell } from './cell.ts';
import type { SchedulerWorld, Term } from './context.ts';
import { isCurrent } from './context.ts';
import { Decider } from './decider.ts';
import { DecisionLoop } from './decision-loop.ts';
import type { SchedulerEvents } from './events.ts';
import { Evictor } from './evictor.ts';
import { FreshStarts } from './fresh-starts.ts';
import type { StoredJob } from './job-loader.ts';
import { JobLoader } from './job-loader.ts';
import { LaunchBook } from './launch-terms.ts';
import { Launcher } from './launcher.ts';
import type { SchedulerOptions } from './options.ts';
import type { Part } from './own-part.ts';
import type { Entry } from './owned-job.ts';
import { newEntry, OwnedJob } from './owned-job.ts';
import type { OwnedRecord } from './ownership.ts';
import { Ownership, ownerOf } from './ownership.ts';
import { Parking } from './parking.ts';
import { Placer } from './placer.ts';
import { Releaser } from './releaser.ts';
import { Reports } from './reports.ts';
import { Starter } from './starter.ts';
import type { SchedulerStats } from './stats.ts';
import { Stopper } from './stopper.ts';
import { Sweeper } from './sweeper.ts';
import { TicketDesk } from './ticket-desk.ts';

/** Calls to hosts at once; the rest wait in order. */
const HOST_CALLS_MAX = 128;
/** Calls at once to hosts that did not answer the first time. */
const HOST_RETRIES_MAX = 32;
const LOAD_RETRY_MS = 1_000;
const REBASES_MAX = 8;
/** From `setTimeout`: a timer cannot wait longer, and a look too early does no harm. */
const LOOK_AHEAD_MAX_MS = 3_600_000;

/**
 * Everything that a scheduler knows and does under one session:
 *
 *   owned → loaded → looked at ⇄ (placed → tickets → commit → start) → released → looked at → … → finished
 *
 * When the session is lost, all of it is dropped at once, and the next term starts over from the store.
 */
export class SchedulerTerm implements Term {
  readonly world: SchedulerWorld;
  readonly options: SchedulerOptions;
  readonly signal: AbortSignal;
  readonly incarnation: string;
  readonly cell: PrivateCell;
  readonly hosts: HostClient;
  readonly hostCalls;
  readonly hostRetries;
  readonly stats: SchedulerStats;
  readonly events: SchedulerEvents;
  readonly committer: Committer;
  readonly placer: Placer;
  readonly decider: Decider;
  readonly #loader: JobLoader;
  readonly #ownership: Ownership;
  readonly #reports: Reports;
  readonly #switches: Table<Switches>;
  readonly #desk: TicketDesk;
  readonly #starter: Starter;
  readonly #starts: FreshStarts;
  readonly #parking: Parking;
  readonly #releaser: Releaser;
  readonly #systemJobs = new Set<OwnedJob>();
  readonly #jobs = new Map<string, OwnedJob>();
  /** Where each of our allocations is; the way from a report to its job. */
  readonly #entries = new Map<string, { readonly job: OwnedJob; readonly entry: Entry }>();
  readonly #loop: DecisionLoop;
  readonly #sweeper: Sweeper;
  #ready = false;

  constructor(parts: {
    readonly world: SchedulerWorld;
    readonly options: SchedulerOptions;
    readonly session: Session;
    readonly signal: AbortSignal;
    readonly incarnation: string;
    readonly stats: SchedulerStats;
    readonly events: SchedulerEvents;
  }) {
    const { world, options } = parts;
    this.world = world;
    this.options = options;
    this.signal = parts.signal;
    this.incarnation = parts.incarnation;
    this.stats = parts.stats;
    this.events = parts.events;
    this.hosts = new HostClient(world.http);
    this.hostCalls = world.makeQueue(HOST_CALLS_MAX);
    this.hostRetries = world.makeQueue(HOST_RETRIES_MAX);
    this.#loader = new JobLoader(world);
    const { store, keys, clock, random, log, metrics } = world;
    this.cell = new PrivateCell(store, keys, log, {
      onRoom: (host) => this.room(host),
      onStanding: (host) => this.#onStanding(host),
      onHost: () => this.#lookAtSystemJobs(),
      mayWait: () => this.#ready && this.#parking.size === 0 && options.conflictCheck === 'resource-fit',
    });
    this.committer = new Committer({
      ...{ store, keys, clock, random, log, metrics },
      book: this.cell.book,
      hostOf: (id) => this.cell.state.hostOf(id),
      ownerRevisionOf: (namespace, job) =>
        this.signal.aborted ? undefined : this.#ownership.revisionOf(`${namespace}/${job}`),
      onLedger: (host) => this.cell.syncLedger(host),
      moreComing: () => this.#loop.isDeciding,
      options: {
        conflictCheck: options.conflictCheck,
        inFlightMax: options.inFlightMax,
        rebasesMax: REBASES_MAX,
      },
    });
    this.#switches = new Table<Switches>(store, keys.switches, switchesCodec, {
      onChange: () => this.#lookAtAll(),
    });
    this.#desk = new TicketDesk(world, options.id, new ArbiterClient(world.http));
    const book = new LaunchBook(world.digest);
    const releaser = new Releaser(this);
    this.#starter = new Starter(this, { book, desk: this.#desk, releaser });
    const backlog = (): number => this.#loop.backlog + this.#loader.waiting;
    this.#starts = new FreshStarts(clock, backlog, (job, entry) => {
      if (isCurrent(this, job, entry)) void this.#starter.start(job, entry);
    });
    const launcher = new Launcher(this, { book, desk: this.#desk, starts: this.#starts });
    this.#releaser = releaser;
    this.placer = new Placer(this);
    this.#parking = new Parking({ clock, state: this.cell.state, wake: (job) => this.look(job) });
    const evictor = new Evictor(this, {
      ...{ placer: this.placer, parking: this.#parking },
      isPaused: () => this.#switches.get('')?.value.pauseEviction ?? false,
      fillsOf: (job) => this.decider.look(job, Math.floor(clock.nowMs())).fills,
      launch: (job, plan) => {
        for (const entry of plan.entries) this.index(job, entry);
        return this.#loop.launch(job, plan, plan.evictions);
      },
    });
    this.decider = new Decider(this, {
      evictor,
      placer: this.placer,
      stopper: new Stopper(this, releaser),
      releaser,
      parking: this.#parking,
      isPaused: () => this.isPaused,
      finish: (job, as) => void this.#finish(job, as),
    });
    this.#reports = new Reports(world, {
      hosts: () => this.#hostsInUse(),
      onReport: (report) => this.report(report),
    });
    this.#loop = new DecisionLoop(this, {
      ...{ decider: this.decider, launcher },
      jobOf: (key) => this.#jobs.get(key),
      onDecided: (job, entry) => this.index(job, entry),
      onPause: () => this.committer.flush(),
      onLaunched: () => this.#reports.refresh(),
    });
    this.#sweeper = new Sweeper(this, {
      ...{ jobs: this.#jobs, entries: this.#entries, reports: this.#reports },
      ...{ parking: this.#parking, releaser },
    });
    this.#ownership = new Ownership({
      ...{ store, keys, clock, log },
      session: parts.session,
      signal: parts.signal,
      self: ownerOf(options.id, options.kind, Math.floor(clock.nowMs())),
      onOwned: (key, row, ownerRevision) => this.#own(key, row, ownerRevision),
      onLost: (key) => this.#drop(key),
      onRecord: (key, row) => this.#onRecord(key, row),
    });
  }

  /** Works until the signal is aborted. @throws StoreError when the store refuses us for good */
  async run(): Promise<void> {
    await Promise.race([
      Promise.all([
        ...[this.cell.ready, this.#ownership.ready, this.#reports.ready],
        ...[this.#switches.ready, this.#desk.ready],
      ]),
      aborted(this.signal),
    ]);
    if (this.signal.aborted) return;
    this.#ready = true;
    this.#reports.start();
    this.#ownership.start();
    this.#sweeper.start();
    await this.#loop.run();
  }

  /** After `run` has ended: takes nothing with it. */
  async close(): Promise<void> {
    this.#ready = false;
    this.#sweeper.close();
    for (const key of [...this.#jobs.keys()]) this.#drop(key);
    this.#starts.close();
    this.#parking.close();
    this.#ownership.close();
    this.#desk.close();
    this.#switches.close();
    this.cell.close();
    await this.#reports.close();
  }

  get ready(): boolean {
    return this.#ready;
  }

  get ownPart(): Part {
    return this.#ownership.ownPart;
  }

  get isPaused(): boolean {
    return this.#switches.get('')?.value.pausePlacement ?? false;
  }

  get jobsOwned(): number {
    return this.#jobs.size;
  }

  job(key: string): OwnedJob | undefined {
    return this.#jobs.get(key);
  }

  /** Slots that wait for a place, over all jobs. */
  get pending(): number {
    let sum = 0;
    for (const job of this.#jobs.values()) for (const group of job.groups.values()) sum += group.pending;
    return sum;
  }

  // --- what the parts ask of a term --------------------------------------------------------------------------------

  commit(plan: Plan): Promise<PlanOutcome> {
    return this.committer.commit(plan);
  }

  look(job: OwnedJob): void {
    if (job.dropped || job.stale) return;
    this.#loop.push(job);
  }

  lookAt(job: OwnedJob, atMs: number): void {
    if (job.dropped || atMs >= job.lookAtMs) return;
    job.cancelTimer();
    job.lookAtMs = atMs;
    // Whole milliseconds, and at least one: a timer that fires a fraction early must not be set again for that fraction.
    const delayMs = Math.min(LOOK_AHEAD_MAX_MS, Math.max(1, Math.ceil(atMs - this.world.clock.nowMs())));
    job.cancelTimer = this.world.clock.after(delayMs, () => {
      job.lookAtMs = Number.POSITIVE_INFINITY;
      this.look(job);
    });
  }

  reload(job: OwnedJob, delayMs = 0): void {
    if (job.dropped || job.stale) return;
    job.stale = true;
    void this.#load(job, delayMs);
  }

  lose(job: OwnedJob): void {
    if (this.#jobs.get(job.key) === job) this.#drop(job.key);
  }

  room(host: string): void {
    this.#parking.room(host);
  }

  moveOn(): void {
    this.placer.moveOn();
  }

  evicted({ victim, cause }: Eviction, revision: number): void {
    const found = this.#entries.get(victim.id);
    if (found === undefined || found.entry.revision === 0) return;
    found.entry.allocation = { ...victim, desired: 'evict', cause };
    found.entry.revision = Math.max(found.entry.revision, revision);
    this.say('stopping', found.job, cause, found.entry);
    this.look(found.job);
  }

  dropEntry(job: OwnedJob, entry: Entry): void {
    job.entries.delete(entry.allocation.id);
    this.#entries.delete(entry.allocation.id);
  }

  say(kind: SchedulerEventKind, job: OwnedJob, detail: string, entry?: Entry): void {
    const { namespace, name } = job;
    if (entry === undefined) {
      this.events.say({ kind, namespace, job: name, detail });
      return;
    }
    const { id, group, index, host } = entry.allocation;
    const slot = slotName(name, group, index);
    this.events.say({ kind, namespace, job: name, allocation: id, slot, host, detail });
  }

  report(report: AllocationReport): void {
    const found = this.#entries.get(report.id);
    if (found === undefined || found.entry.allocation.host !== report.host) return;
    const { job, entry } = found;
    const before = entry.report;
    if (before?.released === true && !report.released) return;
    if (before !== null && OBSERVED_RANK[report.state] < OBSERVED_RANK[before.state]) return;
    entry.report = report;
    if (entry.revision > 0) entry.stage = 'started';
    if (report.released && isTerminal(report.state)) this.#released(job, entry, report);
    // Only a service looks at whether its allocations run; a batch job waits for their ends.
    else if (before?.state !== report.state && job.record.job.type !== 'batch') this.look(job);
  }

  // --- owning ------------------------------------------------------------------------------------------------------

  #own(key: string, row: OwnedRecord, ownerRevision: number): void {
    const job = new OwnedJob(row.value, row.modRevision, ownerRevision);
    this.#jobs.set(key, job);
    if (job.record.job.type === 'system') this.#systemJobs.add(job);
    this.say('owned', job, `version ${String(job.record.version)}`);
    this.reload(job);
  }

  #drop(key: string): void {
    const job = this.#jobs.get(key);
    if (job === undefined) return;
    job.dropped = true;
    job.cancelTimer();
    this.#jobs.delete(key);
    this.#systemJobs.delete(job);
    this.#loop.remove(key);
    this.#parking.leave(job);
    for (const entry of [...job.entries.values()]) {
      if (entry.revision === 0) this.cell.state.forget(entry.allocation.id);
      this.#entries.delete(entry.allocation.id);
    }
    job.entries.clear();
  }

  #onRecord(key: string, row: OwnedRecord | undefined): void {
    const job = this.#jobs.get(key);
    if (job === undefined) return;
    job.versions.set(job.record.version, job.record.job);
    job.record = row === undefined ? { ...job.record, desired: 'stop' } : row.value;
    job.recordRevision = row?.modRevision ?? 0;
    // What was tried for the old spec says nothing about the new one.
    job.groups.clear();
    this.#parking.leave(job);
    this.look(job);
  }

  async #load(job: OwnedJob, delayMs: number): Promise<void> {
    const { clock, log } = this.world;
    let waitMs = delayMs;
    while (!job.dropped && !this.signal.aborted) {
      if (waitMs > 0) await sleep(clock, waitMs, this.signal);
      try {
        const { landings } = job;
        const stored = await this.#loader.load(job.namespace, job.name, job.record.version);
        if (job.dropped) return;
        // An own write landed meanwhile, and the lists may be from before it: they would make us forget what we placed,
        // or take up again what was released. Nothing new is decided while the job is stale, so this ends.
        if (job.landings !== landings) continue;
        this.#loaded(job, stored);
        return;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        log.warn({ job: job.key, error }, 'cannot read a job');
        waitMs = LOAD_RETRY_MS;
      }
    }
  }

  #loaded(job: OwnedJob, stored: StoredJob): void {
    const present = new Set<string>();
    for (const { allocation, revision } of stored.allocations) {
      present.add(allocation.id);
      this.#loadedAllocation(job, allocation, revision);
    }
    for (const entry of [...job.entries.values()]) {
      const isOnItsWay = entry.revision === 0 || entry.releasing;
      if (!present.has(entry.allocation.id) && !isOnItsWay) this.dropEntry(job, entry);
    }
    job.setOutcomes(stored.outcomes);
    for (const [version, spec] of stored.versions) job.versions.set(version, spec);
    job.stale = false;
    this.#reports.refresh();
    this.look(job);
  }

  #loadedAllocation(job: OwnedJob, allocation: Entry['allocation'], revision: number): void {
    const known = job.entries.get(allocation.id);
    if (known !== undefined) {
      if (known.revision === 0) return;
      known.allocation = allocation;
      known.revision = Math.max(known.revision, revision);
      if (known.undriven) void this.#starter.verify(job, known);
      known.undriven = false;
      return;
    }
    const entry = newEntry(allocation, revision, 'verify');
    job.entries.set(allocation.id, entry);
    this.index(job, entry);
    const report = this.#reports.get(allocation.host, allocation.id);
    if (report !== undefined) this.report(report);
    if (entry.stage === 'verify') void this.#starter.verify(job, entry);
    // Whoever committed it may have died before the host heard who gives way.
    const waits = OBSERVED_RANK[entry.report?.state ?? 'assigned'] < OBSERVED_RANK.running;
    if (allocation.desired === 'run' && waits) this.#starter.clearWay(allocation, job);
  }

  /** Reports about the entry will find it. */
  index(job: OwnedJob, entry: Entry): void {
    this.#entries.set(entry.allocation.id, { job, entry });
  }

  async #finish(job: OwnedJob, as: NonNullable<Todo['finished']>): Promise<void> {
    if (job.finishing || job.failing) return;
    job.finishing = true;
    try {
      if (await this.#ownership.finish(job.key, job.recordRevision)) {
        this.say('finished', job, as);
        return;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.world.log.warn({ job: job.key, error }, 'cannot give up a finished job');
    }
    job.finishing = false;
    if (!job.dropped) this.lookAt(job, this.world.clock.nowMs() + LOAD_RETRY_MS);
  }

  // --- looking at ----------------------------------------------------------------------------------------------------

  #lookAtAll(): void {
    for (const job of this.#jobs.values()) this.look(job);
  }

  #onStanding(host: string): void {
    for (const { job, entry } of this.#entries.values()) if (entry.allocation.host === host) this.look(job);
    this.#lookAtSystemJobs();
  }

  #lookAtSystemJobs(): void {
    for (const job of this.#systemJobs) this.look(job);
  }

  // --- following ---------------------------------------------------------------------------------------------------

  #released(job: OwnedJob, entry: Entry, report: AllocationReport): void {
    // A record being rewritten has a revision that nobody knows yet; the look that follows finds the report.
    if (entry.revision === 0 || entry.marking || job.stale) return;
    const nowMs = Math.floor(this.world.clock.nowMs());
    this.#releaser.release(job, entry, outcomeOf(entry.allocation, report, nowMs));
  }

  #hostsInUse(): readonly ReportSource[] {
    const urls = new Map<string, string>();
    for (const { entry } of this.#entries.values()) {
      const { host } = entry.allocation;
      const address = urls.has(host) ? undefined : this.cell.state.hostOf(host)?.address;
      if (address !== undefined) urls.set(host, address);
    }
    return [...urls].map(([name, url]) => ({ name, url }));
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
