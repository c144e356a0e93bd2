import { ArbiterClient } from '../src/clients/arbiter-client.ts';
import { HostClient } from '../src/clients/host-client.ts';
import type { CellMeta } from '../src/core/core.ts';
import { slotName } from '../src/core/cell/ids.ts';
import type { Switches } from '../src/core/quota/quota.ts';
import type { SharedUse } from '../src/core/cell/claim.ts';
import { partsOfPool } from '../src/core/quota/shared-resource.ts';
import type { Eviction, Plan, PlanOutcome } from '../src/core/commit/plan.ts';
import type { AllocationReport } from '../src/core/host/report.ts';
import type { Fill } from '../src/core/slots/job-view.ts';
import type { Session } from '../src/ports/cell-store.ts';
import { Committer } from '../src/runtime/commit/commit.ts';
import { sleep, untilAborted } from '../src/runtime/wait/wait.ts';
import { Table } from '../src/runtime/records/records.ts';
import type { SchedulerEventKind } from '../src/wire/api/scheduler-api.ts';
import { switchesCodec } from '../src/wire/records/records.ts';
import { PrivateCell } from './state/cell.ts';
import type { SchedulerWorld, Term } from './state/state.ts';
import { isCurrent } from './state/state.ts';
import { Decider } from './decide/decide.ts';
import { DecisionLoop } from './decide/decision-loop.ts';
import type { SchedulerEvents } from './state/events.ts';
import { Evictor } from './preemption/preemption.ts';
import { FreshStarts } from './hosts/start-queue.ts';
import { Intents } from './gangs/intents.ts';
import { HostCalls } from './calls/calls.ts';
import { JobBook } from './state/job-table.ts';
import { JobIntake } from './ownership/job-intake.ts';
import { JobLoader } from './ownership/job-loader.ts';
import { JobLooks } from './state/job-timers.ts';
import { LaunchBook } from './commit/start-terms.ts';
import { GangRepair } from './gangs/gang-repair.ts';
import { Launcher } from './commit/commit.ts';
import { Observer } from './hosts/observer.ts';
import type { SchedulerOptions } from './policies/options.ts';
import type { Part } from './decide/partition.ts';
import type { Entry, OwnedJob } from './state/owned-job.ts';
import { OwnedJobs } from './ownership/owned-jobs.ts';
import { Ownership, ownerOf } from './ownership/ownership.ts';
import { Parking } from './decide/parking.ts';
import { Placer } from './decide/placer.ts';
import { Releaser } from './commit/releaser.ts';
import { Reports } from './hosts/reports.ts';
import { Starter } from './hosts/starter.ts';
import { Strays } from './repair/unrecorded.ts';
import type { SchedulerStats } from './state/stats.ts';
import { Stopper } from './hosts/stopper.ts';
import { Sweeper } from './repair/repair.ts';
import { TicketDesk } from './commit/ticket-client.ts';

const REBASES_MAX = 8;
/** While so many jobs are being taken, a commit that is not full waits for them: they fill it within a round trip or two. */
const BURST_MIN = 64;
/** So long after a restore all hosts have registered again: their sessions end (10 s), then they try every 5 s. */
const RETURN_MS = 15_000;

/**
 * Everything that a scheduler knows and does under one session:
 *
 *   owned → loaded → looked at ⇄ (placed → tickets → commit → start) → released → looked at → … → finished
 *
 * Here the parts are joined; what each is for stands in its own file. When the session is lost, all of it is dropped at once, and the next term starts over from the store.
 */
export class SchedulerTerm implements Term {
  readonly world: SchedulerWorld;
  readonly options: SchedulerOptions;
  readonly signal: AbortSignal;
  readonly incarnation: string;
  readonly cell: PrivateCell;
  readonly hosts: HostClient;
  readonly hostCalls: HostCalls;
  readonly stats: SchedulerStats;
  readonly events: SchedulerEvents;
  readonly committer: Committer;
  readonly placer: Placer;
  readonly decider: Decider;
  readonly #book = new JobBook();
  readonly #intake: JobIntake;
  readonly #jobs: OwnedJobs;
  readonly #looks: JobLooks;
  readonly #observer: Observer;
  readonly #ownership: Ownership;
  readonly #reports: Reports;
  readonly #switches: Table<Switches>;
  readonly #desk: TicketDesk;
  readonly #starts: FreshStarts;
  readonly #parking: Parking;
  readonly #restoredAtMs: number | null;
  readonly #gangs: GangRepair;
  readonly #loop: DecisionLoop;
  readonly #sweeper: Sweeper;
  /** Jobs that wait to be taken, read, decided or committed. */
  readonly #backlog: () => number;
  #ready = false;

  constructor(parts: {
    readonly world: SchedulerWorld;
    readonly options: SchedulerOptions;
    readonly session: Session;
    readonly signal: AbortSignal;
    readonly meta: CellMeta;
    readonly stats: SchedulerStats;
    readonly events: SchedulerEvents;
  }) {
    const { world, options } = parts;
    this.world = world;
    this.options = options;
    this.signal = parts.signal;
    this.incarnation = parts.meta.incarnation;
    this.#restoredAtMs = parts.meta.restoredAtMs ?? null;
    this.stats = parts.stats;
    this.events = parts.events;
    this.hosts = new HostClient(world.http);
    this.hostCalls = new HostCalls({
      clock: world.clock,
      addressOf: (host) => this.cell.state.hostOf(host)?.address,
      signal: parts.signal,
    });
    const loader = new JobLoader(world);
    const jobs = this.#book;
    this.#looks = new JobLooks(world.clock, jobs, (job) => this.#loop.push(job));
    const intents = new Intents(this);
    const { store, keys, clock, random, log, metrics } = world;
    this.cell = new PrivateCell(store, keys, log, clock, {
      onRoom: (host) => this.room(host),
      onStanding: (host) => this.#looks.onHost(host),
      onHost: (host) => {
        this.hostCalls.hostChanged(host);
        this.#looks.systemJobs();
      },
      onSharedRoom: (resource) => this.#parking.sharedRoom(resource),
      mayWait: () => this.#ready && this.#parking.size === 0 && options.conflictCheck === 'resource-fit',
    });
    this.committer = new Committer({
      ...{ store, keys, clock, random, log, metrics },
      book: this.cell.book,
      pools: this.cell.state.pools,
      hostOf: (id) => this.cell.state.hostOf(id),
      ownerRevisionOf: (namespace, job) =>
        this.signal.aborted ? undefined : this.#ownership.revisionOf(`${namespace}/${job}`),
      intentRevisionOf: (intent) => (this.signal.aborted ? undefined : intents.revisionOf(intent)),
      session: () => this.signal,
      onLedger: (host) => this.cell.syncLedger(host),
      moreComing: () => this.#loop.isDeciding || this.#ownership.asked >= BURST_MIN,
      options: {
        conflictCheck: options.conflictCheck,
        inFlightMax: options.inFlightMax,
        rebasesMax: REBASES_MAX,
      },
    });
    this.#switches = new Table<Switches>(store, keys.switches, switchesCodec, {
      onChange: () => this.#looks.all(),
    });
    this.#desk = new TicketDesk(world, options.id, new ArbiterClient(world.http));
    const book = new LaunchBook(world.digest);
    const releaser = new Releaser(this);
    const starter = new Starter(this, {
      ...{ book, desk: this.#desk },
      giveBack: (job, entry, why) => {
        if (!this.#gangs.refused(job, entry, why)) releaser.release(job, entry, null);
      },
    });
    this.#backlog = () => this.#loop.backlog + loader.waiting + this.#ownership.asked;
    this.#starts = new FreshStarts(clock, this.#backlog, (job, entry) => {
      if (isCurrent(this, job, entry)) void starter.start(job, entry);
    });
    const fillsOf = (job: OwnedJob): readonly Fill[] =>
      this.decider.look(job, Math.floor(clock.nowMs())).fills;
    const launcher = new Launcher(this, {
      ...{ book, desk: this.#desk, starts: this.#starts, intents, fillsOf },
      onLaunched: () => {
        this.#reports.hostsChanged();
        this.#loop.launched();
      },
    });
    this.#observer = new Observer(this, jobs, releaser, this.#restoredAtMs !== null);
    this.placer = new Placer(this);
    this.#parking = new Parking({ clock, state: this.cell.state, wake: (job) => this.look(job) });
    const evictor = new Evictor(this, {
      ...{ placer: this.placer, parking: this.#parking },
      isPaused: () => this.#switches.get('')?.value.pauseEviction ?? false,
      fillsOf,
      launch: (job, plan) => {
        for (const entry of plan.entries) jobs.index(job, entry);
        return this.#loop.launch(job, plan, plan.evictions);
      },
    });
    const stopper = new Stopper(this, releaser);
    this.#gangs = new GangRepair(this, {
      ...{ placer: this.placer, releaser, stopper },
      launch: (job, plan, releases) => {
        for (const entry of plan.entries) jobs.index(job, entry);
        return this.#loop.launch(job, plan, [], releases);
      },
    });
    this.decider = new Decider(this, {
      evictor,
      placer: this.placer,
      stopper,
      releaser,
      parking: this.#parking,
      isPaused: () => this.isPaused,
      finish: (job, as) => void this.#jobs.finish(job, as),
    });
    this.#reports = new Reports(world, {
      hosts: () => jobs.hostsInUse((host) => this.cell.state.hostOf(host)?.address),
      isOurs: (jobKey) => jobs.get(jobKey) !== undefined,
      isLost: (host) =>
        this.cell.state.hostOf(host) === undefined || this.cell.standing(host).state === 'lost',
      onReport: (report) => this.report(report),
    });
    this.#intake = new JobIntake(this, {
      ...{ loader, book: jobs, reports: this.#reports, starter, intents },
      strays: this.#restoredAtMs === null ? null : new Strays(this, this.#reports),
    });
    this.#loop = new DecisionLoop(this, {
      ...{ decider: this.decider, launcher },
      jobOf: (key) => jobs.get(key),
      onDecided: (job, entry) => jobs.index(job, entry),
      storeTakes: () => this.committer.placementsMax,
      onPause: () => this.committer.flush(),
    });
    this.#sweeper = new Sweeper(this, {
      ...{ book: jobs, reports: this.#reports, parking: this.#parking, releaser },
    });
    this.#jobs = new OwnedJobs(this, {
      ...{ book: jobs, intake: this.#intake, loop: this.#loop, parking: this.#parking },
      reports: this.#reports,
      giveUp: (key, recordRevision) => this.#ownership.finish(key, recordRevision),
    });
    this.#ownership = new Ownership({
      ...{ store, keys, clock, log },
      session: parts.session,
      signal: parts.signal,
      self: ownerOf(options.id, options.kind, Math.floor(clock.nowMs())),
      onOwned: (_key, row, ownerRevision, isBare) => this.#jobs.own(row, ownerRevision, isBare),
      onTaken: () => this.committer.flush(),
      onLost: (key) => this.#jobs.drop(key),
      onRecord: (key, row) => this.#jobs.changed(key, row),
    });
  }

  /** Works until the signal is aborted. @throws StoreError when the store refuses us for good */
  async run(): Promise<void> {
    await Promise.race([
      Promise.all([
        ...[this.cell.ready, this.#ownership.ready, this.#reports.ready],
        ...[this.#switches.ready, this.#desk.ready],
      ]),
      untilAborted(this.signal),
    ]);
    if (this.signal.aborted) return;
    this.#ready = true;
    this.#reports.start();
    await this.#hostsHeard();
    if (this.signal.aborted) return;
    this.#ownership.start();
    this.#sweeper.start();
    await this.#loop.run();
  }

  /** After a restore nothing is decided before the hosts have said what they know (I53). */
  async #hostsHeard(): Promise<void> {
    if (this.#restoredAtMs === null) return;
    const { clock } = this.world;
    const leftMs = this.#restoredAtMs + RETURN_MS - clock.nowMs();
    await sleep(clock, Math.min(RETURN_MS, Math.max(0, leftMs)), this.signal);
    await this.#reports.complete(this.signal);
  }

  /** After `run` has ended: takes nothing with it. */
  async close(): Promise<void> {
    this.#ready = false;
    this.#sweeper.close();
    this.#jobs.dropAll();
    this.#starts.close();
    this.hostCalls.close();
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

  /** Not ready yet, or jobs wait for what it does itself; those without room do not. */
  get isBusy(): boolean {
    return !this.#ready || this.#backlog() > 0;
  }

  get ownPart(): Part {
    return this.#ownership.ownPart;
  }

  get isPaused(): boolean {
    return this.#switches.get('')?.value.pausePlacement ?? false;
  }

  get jobs(): Pick<JobBook, 'get' | 'size' | 'pending'> {
    return this.#book;
  }

  // --- what the parts ask of a term --------------------------------------------------------------------------------

  commit(plan: Plan): Promise<PlanOutcome> {
    return this.committer.commit(plan);
  }

  look(job: OwnedJob): void {
    this.#looks.now(job);
  }

  lookAfter(job: OwnedJob, delayMs: number): void {
    this.#looks.after(job, delayMs);
  }

  reload(job: OwnedJob, delayMs = 0): void {
    if (job.dropped || job.stale) return;
    job.stale = true;
    // It is read again and again in any case until all of it is taken up.
    if (!job.inPart) void this.#intake.load(job, delayMs);
  }

  lose(job: OwnedJob): void {
    if (this.#book.get(job.key) === job) this.#jobs.drop(job.key);
  }

  room(host: string, shared?: SharedUse): void {
    this.#parking.room(host);
    for (const pool in shared) this.#parking.sharedRoom(partsOfPool(pool).resource);
  }

  moveOn(): void {
    this.placer.moveOn();
  }

  evicted(eviction: Eviction, revision: number): void {
    this.#observer.evicted(eviction, revision);
  }

  dropEntry(job: OwnedJob, entry: Entry): void {
    this.#book.dropEntry(job, entry);
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
    this.#observer.report(report);
  }
}
