import { ArbiterClient } from '../src/clients/arbiter-client.ts';
import { HostClient } from '../src/clients/host-client.ts';
import type { CellMeta } from '../src/core/core.ts';
import { slotName } from '../src/core/cell/ids.ts';
import type { Pausable, Pause, PauseScope } from '../src/core/quota/pauses.ts';
import type { BudgetKind } from '../src/core/quota/budgets.ts';
import { pausedBy } from '../src/core/quota/pauses.ts';
import type { SharedUse } from '../src/core/cell/claim.ts';
import { partsOfPool } from '../src/core/quota/shared-resource.ts';
import type { Fill } from '../src/core/slots/job-view.ts';
import type { Session } from '../src/ports/cell-store.ts';
import { Committer } from '../src/runtime/commit/commit.ts';
import { sleep, untilAborted } from '../src/runtime/wait/wait.ts';
import type { LedgerRace } from '../src/core/commit/plan.ts';
import type { SchedulerPlan, SchedulerPlanRequest } from '../src/wire/plan/plan.ts';
import type { SchedulerEventKind } from '../src/wire/api/scheduler-api.ts';
import { PrivateCell } from './state/cell.ts';
import type { Partition, SchedulerWorld, Term } from './state/state.ts';
import { idsOf, isCurrent, wallMs } from './state/state.ts';
import { Decider, storedRecords } from './decide/decide.ts';
import { Growth } from './decide/growth.ts';
import { DecisionLoop } from './decide/decision-loop.ts';
import type { SchedulerEvents } from './state/events.ts';
import { Preemption } from './preemption/preemption.ts';
import { StartQueue } from './hosts/start-queue.ts';
import { Intents } from './gangs/intents.ts';
import { HostCalls } from './calls/calls.ts';
import { Budgets } from '../src/runtime/records/budgets.ts';
import { CellPauses } from '../src/runtime/records/pauses.ts';
import { CellSecrets } from './state/cell-secrets.ts';
import { JobTable } from './state/job-table.ts';
import { JobIntake } from './ownership/job-intake.ts';
import { JobLoader } from './ownership/job-loader.ts';
import { JobTimers } from './state/job-timers.ts';
import { Launches } from './commit/start-terms.ts';
import { GangRepair } from './gangs/gang-repair.ts';
import { CommitPipeline } from './commit/commit.ts';
import { Observer } from './hosts/observer.ts';
import type { SchedulerOptions } from './policies/options.ts';
import type { DecidedPlan } from './state/decided-plan.ts';
import type { Entry, OwnedJob } from './state/owned-job.ts';
import { OwnedJobs } from './ownership/owned-jobs.ts';
import type { FirstPlacementsParts } from './ownership/first-placement.ts';
import { FirstPlacements } from './ownership/first-placement.ts';
import { Ownership } from './ownership/ownership.ts';
import { Parking } from './decide/parking.ts';
import { Placer } from './decide/placer.ts';
import { Plans } from './plan/plan.ts';
import { Releaser } from './commit/releaser.ts';
import { Reports } from './hosts/reports.ts';
import { Starter } from './hosts/starter.ts';
import { UnrecordedAllocations } from './repair/unrecorded.ts';
import type { SchedulerStats } from './state/stats.ts';
import { Stopper } from './hosts/stopper.ts';
import { Sweeper } from './repair/repair.ts';
import { TicketClient } from './commit/ticket-client.ts';
import { Tickets } from './commit/tickets.ts';

const REBASES_MAX = 8;
/** While so many jobs are being claimed, a commit that is not full waits for them: they fill it within a round trip or two. */
const BURST_MIN = 64;
/** So long after a restore all hosts have registered again: their sessions end (10 s), then they try every 5 s. */
const RETURN_MS = 15_000;

/**
 * Everything that a scheduler knows and does under one session with the store; here the rooms are joined.
 *
 *   claimed → loaded → decided ⇄ (placed → tickets → commit → start) → released → decided → … → finished
 *
 * When the session is lost, all of it is dropped at once, calls to hosts and plans under way included, and the next term
 * starts over from the store.
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
  readonly #table = new JobTable();
  readonly #intake: JobIntake;
  readonly #jobs: OwnedJobs;
  readonly #timers: JobTimers;
  readonly #observer: Observer;
  readonly #ownership: Ownership;
  readonly #reports: Reports;
  readonly pauses: CellPauses;
  readonly #budgets: Budgets;
  readonly #secrets: CellSecrets;
  readonly #ticketClient: TicketClient;
  readonly #starts: StartQueue;
  readonly #parking: Parking;
  readonly #restoredAtMs: number | null;
  readonly #gangs: GangRepair;
  readonly #loop: DecisionLoop;
  readonly #sweeper: Sweeper;
  readonly #plans: Plans;
  /** Jobs that wait to be claimed, read, decided or committed. */
  readonly #backlog: () => number;
  #ready = false;

  constructor(
    parts: Pick<Term, 'world' | 'options' | 'signal' | 'stats' | 'events'> & {
      readonly session: Session;
      readonly meta: CellMeta;
    },
  ) {
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
    const table = this.#table;
    this.#timers = new JobTimers(world.clock, table, (job) => this.#loop.push(job));
    const intents = new Intents(this);
    const { clock } = world;
    this.pauses = new CellPauses(world, (pause, isOn) => this.#pauseChanged(pause, isOn));
    this.#budgets = new Budgets(world, {
      wake: (kind, job) => this.#affordable(kind, job),
      hostOf: (host) => this.cell.state.hostOf(host),
    });
    this.cell = this.#newCell();
    this.committer = this.#newCommitter(intents, parts.session);
    this.#secrets = new CellSecrets(world);
    this.#ticketClient = new TicketClient(world, options.id, new ArbiterClient(world.http));
    const launches = new Launches(world.digest);
    const tickets = new Tickets(this, launches, this.#ticketClient);
    const releaser = new Releaser(this);
    const starter = new Starter(this, {
      ...{ launches, tickets, secrets: this.#secrets },
      releaseClaim: (job, entry, why) => {
        if (!this.#gangs.refused(job, entry, why)) releaser.release(job, entry, null);
      },
      stopsItself: (allocation) => {
        const victim = table.entry(allocation);
        // Of a job that is finishing nothing is decided any more.
        return victim?.entry.allocation.desired === 'evict' && !victim.job.finishing;
      },
    });
    this.#backlog = () => this.#loop.backlog + loader.waiting + this.#ownership.claimsPending;
    this.#starts = new StartQueue(clock, this.#backlog, options.busyBacklog);
    const start = (job: OwnedJob, entry: Entry): Promise<void> | undefined =>
      isCurrent(this, job, entry) ? starter.start(job, entry) : undefined;
    const fillsOf = (job: OwnedJob): readonly Fill[] => this.decider.evaluationOf(job, wallMs(world)).fills;
    const pipeline = new CommitPipeline(this, {
      ...{ tickets, intents, fillsOf },
      startsWait: () => this.#starts.isHolding,
      start: (job, entry) => this.#starts.add(job.namespace, entry.allocation.host, () => start(job, entry)),
      onPlanEnded: () => {
        this.#reports.hostsChanged();
        this.#loop.planEnded();
      },
    });
    const runPlan = (job: OwnedJob, plan: DecidedPlan): Promise<boolean> => {
      // Reports about the entries find them from now on.
      for (const entry of plan.entries) table.index(job, entry);
      return pipeline.run(job, plan);
    };
    this.#observer = new Observer(this, {
      ...{ table, releaser, isRestored: this.#restoredAtMs !== null },
      victimMarked: (job) => this.#starts.add(job.namespace, null, () => this.enqueue(job)),
    });
    this.placer = new Placer(this);
    this.#parking = new Parking({
      ...{ clock, state: this.cell.state },
      ...{ wake: (job) => this.enqueue(job), partition: () => this.partition },
    });
    const preemption = new Preemption(this, {
      ...{ placer: this.placer, parking: this.#parking, fillsOf, runPlan },
      isPaused: () => this.pauses.on('eviction', {}) !== null,
      budgets: this.#budgets,
      own: {
        ownOn: (host) => table.entriesOn(host),
        isReporting: (host) => this.#reports.isReporting(host),
      },
    });
    const stopper = new Stopper(this, releaser);
    this.#gangs = new GangRepair(this, {
      place: (job, group, fills, planId) => this.placer.place(job, group, fills, planId) ?? [],
      runPlan,
      released: (job, entry) => releaser.released(job, entry, null),
      stop: (job, stops) => stopper.stop(job, stops),
    });
    const isPaused = ({ namespace, name }: OwnedJob): boolean =>
      this.pauses.on('placement', { namespace, job: name }) !== null;
    const isReporting = (host: string): boolean => this.#reports.isReporting(host);
    this.decider = new Decider(this, {
      ...{ placer: this.placer, parking: this.#parking, stopper, releaser },
      preempt: (job, group, fills, isGang) => void preemption.begin(job, group, fills, isGang),
      records: storedRecords(this),
      ...{ secrets: this.#secrets, isPaused, isReporting, budgets: this.#budgets },
      elasticTarget: options.kind === 'elastic' ? new Growth(this).targetOf : null,
      finish: (job, as) => void this.#jobs.finish(job, as),
    });
    this.#reports = this.#newReports();
    this.#intake = new JobIntake(this, {
      ...{ loader, table, reports: this.#reports, starter, intents },
      unrecorded: this.#restoredAtMs === null ? null : new UnrecordedAllocations(this, this.#reports),
    });
    this.#loop = new DecisionLoop(this, {
      ...{ decider: this.decider, pipeline },
      jobOf: (key) => table.get(key),
      runPlan: (job, plan) => void runPlan(job, plan),
      storeTakes: () => this.committer.placementsMax,
      onPause: () => this.committer.flush(),
    });
    this.#plans = new Plans(this, {
      ...{ table, loader, secrets: this.#secrets, isPaused, isReporting },
      pauseOf: (what, target) => this.pauseOf(what, target),
      waiting: (job, group) => fillsOf(job).filter((fill) => fill.group === group).length,
    });
    this.#sweeper = new Sweeper(this, {
      ...{ table, reports: this.#reports, parking: this.#parking, releaser },
    });
    this.#jobs = new OwnedJobs(this, {
      ...{ table, intake: this.#intake, loop: this.#loop, parking: this.#parking },
      reports: this.#reports,
      giveUp: (key, recordRevision) => this.#ownership.finish(key, recordRevision),
    });
    this.#ownership = this.#newOwnership(parts.session, {
      ...{ decider: this.decider, placer: this.placer, pipeline, tickets, isPaused },
      secrets: this.#secrets,
      isIdle: () => this.#loop.backlog + loader.waiting === 0 && !this.#starts.isHolding,
    });
  }

  #newCell(): PrivateCell {
    return new PrivateCell(this.world, this.options.orphanMs, {
      onFreed: (host) => this.capacityFreed(host),
      onCondition: (host) => this.#timers.hostChanged(host),
      onHost: (host) => {
        this.hostCalls.hostChanged(host);
        this.#timers.enqueueSystemJobs();
      },
      onSharedFreed: (resource) => this.#parking.sharedFreed(resource),
      pausedOn: (host) => sentenceOf(this.pauses.onHost('placement', host)),
      mayWait: () => this.#ready && this.#parking.size === 0 && this.options.conflictCheck === 'resource-fit',
    });
  }

  #newCommitter(intents: Intents, ownerSession: Session): Committer {
    const { store, keys, clock, random, log, metrics } = this.world;
    const { conflictCheck, inFlightMax } = this.options;
    return new Committer({
      ...{ store, keys, clock, random, log, metrics },
      book: this.cell.book,
      pools: this.cell.state.pools,
      hostOf: (id) => this.cell.state.hostOf(id),
      ownerRevisionOf: (namespace, job) =>
        this.signal.aborted ? undefined : this.#ownership.revisionOf(`${namespace}/${job}`),
      intentRevisionOf: (intent) => (this.signal.aborted ? undefined : intents.revisionOf(intent)),
      session: () => this.signal,
      ownerSession,
      onLedger: (host) => this.cell.syncLedger(host),
      moreComing: () => this.#loop.isDeciding || this.#ownership.claimsPending >= BURST_MIN,
      options: { conflictCheck, inFlightMax, rebasesMax: REBASES_MAX },
    });
  }

  #newReports(): Reports {
    return new Reports(this.world, {
      hosts: () => this.#table.hostsInUse((host) => this.cell.state.hostOf(host)?.address),
      isOwned: (jobKey) => this.#table.get(jobKey) !== undefined,
      isLost: (host) =>
        this.cell.state.hostOf(host) === undefined || this.cell.condition(host).state === 'lost',
      onReport: (report) => this.report(report),
    });
  }

  #newOwnership(session: Session, parts: Omit<FirstPlacementsParts, 'self'>): Ownership {
    const { store, keys, clock, log } = this.world;
    const { id, kind } = this.options;
    const self = { scheduler: id, kind, sinceMs: wallMs(this.world) };
    const first = new FirstPlacements(this, { ...parts, self });
    // Of a restored store a job may run on hosts of which the store knows nothing.
    const isRestored = this.#restoredAtMs !== null;
    return new Ownership({
      ...{ store, keys, clock, log },
      ...{ session, signal: this.signal },
      self,
      firstPlacement: (record) => (isRestored ? null : first.of(record)),
      onOwned: (row, ownerRevision, isBare, placed) => this.#jobs.own(row, ownerRevision, isBare, placed),
      onClaimed: () => this.committer.flush(),
      onLost: (key) => this.#jobs.drop(key),
      onRecord: (key, row) => this.#jobs.changed(key, row),
    });
  }

  /** Works until the signal is aborted. @throws StoreError when the store refuses for good */
  async run(): Promise<void> {
    await Promise.race([
      Promise.all([
        ...[this.cell.ready, this.#ownership.ready, this.#reports.ready],
        ...[this.pauses.ready, this.#budgets.ready, this.#secrets.ready, this.#ticketClient.ready],
      ]),
      untilAborted(this.signal),
    ]);
    if (this.signal.aborted) return;
    this.#ready = true;
    this.cell.state.arrange();
    this.#reports.start();
    await this.#hostsReported();
    if (this.signal.aborted) return;
    this.#ownership.start();
    this.#sweeper.start();
    await this.#loop.run();
  }

  /** After a restore nothing is decided before the hosts have reported what they run (I53). */
  async #hostsReported(): Promise<void> {
    if (this.#restoredAtMs === null) return;
    const { clock } = this.world;
    const leftMs = this.#restoredAtMs + RETURN_MS - clock.nowMs();
    await sleep(clock, Math.min(RETURN_MS, Math.max(0, leftMs)), this.signal);
    await this.#reports.complete(this.signal);
  }

  async close(): Promise<void> {
    this.#ready = false;
    this.#sweeper.close();
    this.#jobs.dropAll();
    this.#starts.close();
    this.hostCalls.close();
    this.#parking.close();
    this.#ownership.close();
    this.#ticketClient.close();
    this.pauses.close();
    this.#budgets.close();
    this.#secrets.close();
    this.cell.close();
    await this.#reports.close();
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** Not ready yet, or jobs wait for the scheduler itself; parked jobs do not count. */
  get isBusy(): boolean {
    return !this.#ready || this.#backlog() > 0;
  }

  get partition(): Partition {
    return this.#ownership.partition;
  }

  /** There are tokens for what the job waits for. */
  #affordable(kind: BudgetKind, key: string): void {
    const job = this.#table.get(key);
    if (job === undefined) return;
    if (kind === 'evictions') this.#parking.wake(job);
    else this.enqueue(job);
  }

  /** Why the job waits for a budget of the cell; null: it does not. */
  budgetWaits(kind: BudgetKind, job: string): string | null {
    return this.#budgets.whyWaits(kind, job);
  }

  /** Who has paused it, and why; null: it goes on. */
  pauseOf(what: Pausable, target: PauseScope): string | null {
    return sentenceOf(this.pauses.on(what, target));
  }

  /** What would be decided; null: not ready, or too many wait. @throws StoreError, RecordError */
  async plan(request: SchedulerPlanRequest): Promise<SchedulerPlan | null> {
    return this.#ready ? await this.#plans.plan(request) : null;
  }

  #pauseChanged({ what }: Pause, isOn: boolean): void {
    if (what === 'placement') this.cell.pausesChanged();
    // Room may be made for them again; nothing else would wake them, for nothing was freed.
    if (what === 'eviction' && !isOn) this.#parking.wakeAll();
    if (what !== 'restarts') this.#timers.enqueueAll();
  }

  get jobs(): Pick<JobTable, 'get' | 'size' | 'pending' | 'pendingSinceMs'> {
    return this.#table;
  }

  // --- `Term` ------------------------------------------------------------------------------------------------------

  readonly commit: Term['commit'] = (plan) => this.committer.commit(plan);
  readonly enqueue: Term['enqueue'] = (job) => this.#timers.enqueue(job);
  readonly enqueueAfter: Term['enqueueAfter'] = (job, delayMs) => this.#timers.enqueueAfter(job, delayMs);
  readonly searchElsewhere: Term['searchElsewhere'] = () => this.placer.searchElsewhere();
  readonly report: Term['report'] = (report) => this.#observer.report(report);
  readonly victimMarked: Term['victimMarked'] = (eviction, revision) =>
    this.#observer.victimMarked(eviction, revision);
  readonly victimChanged: Term['victimChanged'] = (eviction) => this.#observer.victimChanged(eviction);
  readonly dropEntry: Term['dropEntry'] = (job, entry) => this.#table.dropEntry(job, entry);

  reload(job: OwnedJob, delayMs = 0): void {
    if (job.dropped || job.stale) return;
    job.stale = true;
    // A partly loaded job is read again and again in any case.
    if (!job.partlyLoaded) void this.#intake.load(job, delayMs);
  }

  ownershipLost(job: OwnedJob): void {
    if (this.#table.get(job.key) === job) this.#jobs.drop(job.key);
  }

  capacityFreed(host: string, shared?: SharedUse): void {
    this.#parking.capacityFreed(host);
    for (const pool in shared) this.#parking.sharedFreed(partsOfPool(pool).resource);
  }

  emit(kind: SchedulerEventKind, job: OwnedJob, detail: string, entry?: Entry, race?: LedgerRace): void {
    const { namespace, name } = job;
    let where = null;
    if (entry !== undefined) {
      const { id, group, index, host } = entry.allocation;
      where = { allocation: id, slot: slotName(name, group, index), host };
    }
    this.events.publish({ kind, namespace, job: name, ...where, detail, ...race });
    const { log } = this.world;
    if (log.isDebug === true) log.debug({ ...idsOf(job, entry), detail }, kind);
  }
}

function sentenceOf(pause: Pause | null): string | null {
  return pause === null ? null : pausedBy(pause);
}
