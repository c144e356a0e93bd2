/**
 * What this scheduler would decide if something in the cell changed: a job submitted, hosts lost or added, own allocations
 * preempted by another scheduler. Nothing is written, assumed, ordered, or asked of arbiters.
 *
 * - `plan.ts` (this file): which jobs are decided, one after the other, and the answer
 * - `rebalance.ts`: which of what runs would be better elsewhere
 * - `dry-run.ts`: decides one job with the code of `decide/` and `preemption/`, until nothing follows
 * - `scratch-cell.ts`: the copy of the private cell on which that happens
 * - `scratch-term.ts`: the term around it, which can read and cannot write
 *
 * The answer holds for a cell in which nothing else happens: what starts runs and is ready, what stops is released, and no
 * other scheduler takes the places. Of equally good hosts another one may be taken in the end. Of quotas
 * monitors tell (`monitor/jobs/plan-quotas.ts`): schedulers know of none.
 *
 * See `docs/decisions/plans.md`.
 */
import type { JobRecord } from '../../src/core/cell/job.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import { Semaphore } from '../../src/runtime/wait/semaphore.ts';
import type {
  EvictedAllocation,
  JobPlan,
  PlanAct,
  PlanWait,
  SchedulerPlan,
  SchedulerPlanRequest,
} from '../../src/wire/plan/plan.ts';
import { PLAN_ACTS_MAX } from '../../src/wire/plan/plan.ts';
import { FairQueue } from '../decide/fair-queue.ts';
import type { WhyTerm } from '../decide/why.ts';
import { whyOf } from '../decide/why.ts';
import type { JobLoader } from '../ownership/job-loader.ts';
import type { JobTable } from '../state/job-table.ts';
import { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { TimeSlice } from '../../src/runtime/wait/time-slice.ts';
import type { DryRunParts } from './dry-run.ts';
import { DryRun, placeOf } from './dry-run.ts';
import { Rebalance } from './rebalance.ts';
import { ScratchCell } from './scratch-cell.ts';

/** Of all jobs of one plan together; a person waits for it. */
const PLAN_MAX_MS = 10_000;
/** Each plan holds a copy of the cell. */
const PLANS_WAITING_MAX = 8;
/** Jobs that wait now and are looked at for what a plan frees: each search for one that fits nowhere is a walk over the cell. */
const WAITING_MAX = 256;
/** Hosts copied, or jobs looked at, between two looks at the clock. */
const SLICE_STEPS = 256;

export interface PlansParts extends Pick<DryRunParts, 'secrets' | 'isPaused' | 'isReporting' | 'pauseOf'> {
  readonly table: Pick<JobTable, 'get' | 'jobs'>;
  readonly loader: Pick<JobLoader, 'load'>;
  /** How many slots of the group have no place now. */
  readonly waiting: (job: OwnedJob, group: string) => number;
}

/** Makes one plan after the other. */
export class Plans {
  readonly #term: Term;
  readonly #parts: PlansParts;
  readonly #turn = new Semaphore(1);
  #asked = 0;

  constructor(term: Term, parts: PlansParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** @returns null: too many plans wait. @throws StoreError, RecordError */
  async plan(request: SchedulerPlanRequest): Promise<SchedulerPlan | null> {
    if (this.#asked >= PLANS_WAITING_MAX) return null;
    this.#asked += 1;
    try {
      return await this.#turn.run(async () => await new OnePlan(this.#term, this.#parts, request).make());
    } finally {
      this.#asked -= 1;
    }
  }
}

interface Draft {
  readonly job: OwnedJob;
  readonly acts: PlanAct[];
  readonly waitingBefore: ReadonlyMap<string, number>;
}

class OnePlan {
  readonly #term: Term;
  readonly #parts: PlansParts;
  readonly #request: SchedulerPlanRequest;
  readonly #queue = new FairQueue();
  readonly #drafts = new Map<string, Draft>();
  readonly #evicted: EvictedAllocation[] = [];

  constructor(term: Term, parts: PlansParts, request: SchedulerPlanRequest) {
    this.#term = term;
    this.#parts = parts;
    this.#request = request;
  }

  async make(): Promise<SchedulerPlan> {
    const { world, signal, cell: real, options } = this.#term;
    const untilMs = world.clock.monotonicMs() + PLAN_MAX_MS;
    const slice = new TimeSlice(world.clock, signal, SLICE_STEPS);
    const cell = await ScratchCell.of(real, slice);
    this.#changeCell(cell);
    const run = new DryRun(this.#term, cell, {
      ...this.#parts,
      onAct: (job, act) => this.#drafts.get(job.key)?.acts.push(act),
      onVictim: (job, eviction) => this.#victim(run, job, eviction),
    });
    const { rebalance } = this.#request;
    if (rebalance !== undefined)
      return await this.#rebalanced(run, cell, rebalance.budget, { slice, untilMs });
    await this.#choose(run, slice);
    let isWhole = await this.#settle(run, untilMs);
    if (isWhole && cell.changes().freed.length > 0) {
      this.#draftWaiting();
      isWhole = await this.#settle(run, untilMs);
    }
    this.#noteStaying();
    const jobs = this.#answer(run);
    return { scheduler: options.id, jobs, ...cell.changes(), evicted: this.#evicted, isCut: !isWhole };
  }

  async #rebalanced(
    run: DryRun,
    cell: ScratchCell,
    budget: number,
    limits: { readonly slice: TimeSlice; readonly untilMs: number },
  ): Promise<SchedulerPlan> {
    const { placer, why } = run;
    const { isPaused, table } = this.#parts;
    const search = new Rebalance(this.#term, cell, { decider: why.decider, placer, isPaused });
    const { moves, isWhole } = await search.moves([...table.jobs()], budget, limits);
    const { id } = this.#term.options;
    return { scheduler: id, jobs: [], ...cell.changes(), evicted: [], isCut: !isWhole, moves };
  }

  /** Decides all that are in the queue. @returns whether all was decided in time */
  async #settle(run: DryRun, untilMs: number): Promise<boolean> {
    let isWhole = true;
    for (let key = this.#queue.next(); key !== undefined; key = this.#queue.next()) {
      const draft = this.#drafts.get(key);
      if (draft === undefined) continue;
      const before = draft.acts.length;
      if (!(await run.settle(draft.job, untilMs))) isWhole = false;
      this.#queue.charge(draft.job.namespace, Math.max(1, draft.acts.length - before));
    }
    return isWhole;
  }

  /** Jobs that wait now: something was freed that one of them may take. */
  #draftWaiting(): void {
    let left = WAITING_MAX;
    for (const job of [...this.#parts.table.jobs()]) {
      if (left === 0) return;
      if (!isWaiting(job) || this.#drafts.has(job.key)) continue;
      this.#draft(job);
      left -= 1;
    }
  }

  #changeCell(cell: ScratchCell): void {
    const { hostsLost, hostsAdded, placed, freed } = this.#request.cell;
    for (const claim of freed) cell.freeBefore(claim);
    for (const claim of placed) cell.take(claim);
    for (const host of hostsLost) cell.lose(host);
    for (const host of hostsAdded) cell.add(host);
  }

  async #choose(run: DryRun, slice: TimeSlice): Promise<void> {
    const { submit, evicted, affected } = this.#request;
    if (submit !== undefined) this.#draft(await this.#submitted(submit));
    for (const { namespace, job, id, by } of evicted) {
      const owned = this.#parts.table.get(jobKeyOf(namespace, job));
      if (owned !== undefined) run.evict(this.#draft(owned).job, id, by);
    }
    if (!affected) return;
    const isAffected = this.#affects();
    for (const job of [...this.#parts.table.jobs()]) {
      if (isAffected(job)) this.#draft(job);
      if (slice.step()) await slice.yield();
    }
  }

  /** Which jobs the changed hosts concern: those on lost ones, and those that wait for a place. */
  #affects(): (job: OwnedJob) => boolean {
    const { hostsLost, hostsAdded } = this.#request.cell;
    const lost = new Set(hostsLost);
    return (job) => {
      if (hostsAdded.length > 0 && (job.record.job.type === 'system' || isWaiting(job))) return true;
      for (const { allocation } of job.entries.values()) if (lost.has(allocation.host)) return true;
      return false;
    };
  }

  /** The job with the new record, and all that is known or stored of what was there before. */
  async #submitted(record: JobRecord): Promise<OwnedJob> {
    const { namespace, name } = record.job;
    const owned = this.#parts.table.get(jobKeyOf(namespace, name));
    if (owned !== undefined && !owned.stale) return owned.copy(record);
    const job = new OwnedJob(record, 0, 0);
    if (record.version === 1) return job;
    const { version } = record;
    const stored = await this.#parts.loader.load({ namespace, job: name, version, hasGangs: job.hasGangs });
    for (const { allocation, revision } of stored.allocations)
      job.entries.set(allocation.id, new Entry(allocation, revision, 'started'));
    job.setOutcomes(stored.outcomes);
    for (const [of, spec] of stored.versions) job.keepVersion(of, spec);
    job.rollout = stored.rollout;
    return job;
  }

  /** The copy on which it is decided, in the queue. */
  #draft(job: OwnedJob): Draft {
    let draft = this.#drafts.get(job.key);
    if (draft === undefined) {
      const groups = Object.keys(job.record.job.groups);
      const waiting = groups.map((group) => [group, this.#waitingNow(job.key, group)] as const);
      // A submitted job is a copy already: nobody else knows it.
      const copy = this.#parts.table.get(job.key) === job ? job.copy() : job;
      draft = { job: copy, acts: [], waitingBefore: new Map(waiting) };
      this.#drafts.set(job.key, draft);
    }
    const { namespace, record, key } = draft.job;
    this.#queue.push(namespace, record.job.precedence, key);
    return draft;
  }

  #waitingNow(key: string, group: string): number {
    const owned = this.#parts.table.get(key);
    return owned === undefined ? 0 : this.#parts.waiting(owned, group);
  }

  #victim(run: DryRun, by: OwnedJob, { victim }: Eviction): void {
    const { namespace, job, id } = victim;
    const owned = this.#parts.table.get(jobKeyOf(namespace, job));
    if (owned === undefined) this.#evicted.push({ namespace, job, id, by: by.key });
    else run.evict(this.#draft(owned).job, id, by.key);
  }

  /** What is lost with its host and not replaced: its job says so. */
  #noteStaying(): void {
    const lost = new Set(this.#request.cell.hostsLost);
    if (lost.size === 0) return;
    for (const { job, acts } of this.#drafts.values())
      for (const { allocation } of job.entries.values()) {
        if (allocation.desired !== 'run' || !lost.has(allocation.host)) continue;
        const why =
          job.record.job.type === 'system' ? 'it is a system job' : 'reschedule.onHostLost is false';
        acts.push({
          act: 'stay',
          ...placeOf(allocation),
          allocation: allocation.id,
          cause: `not replaced: ${why}`,
        });
      }
  }

  #answer(run: DryRun): readonly JobPlan[] {
    const { submit } = this.#request;
    const submitted = submit === undefined ? null : jobKeyOf(submit.job.namespace, submit.job.name);
    let left = PLAN_ACTS_MAX;
    const jobs: JobPlan[] = [];
    for (const [key, { job, acts, waitingBefore }] of this.#drafts) {
      const waits = waitsOf(run.why, job, waitingBefore);
      const isSame = acts.length === 0 && waits.every((wait) => wait.waiting === wait.waitingBefore);
      if (isSame && key !== submitted) continue;
      const listed = acts.slice(0, left);
      left -= listed.length;
      const finished = run.finishedAs(job);
      jobs.push({
        ...{ namespace: job.namespace, job: job.name, version: job.record.version },
        ...{
          scheduler: this.#term.options.id,
          acts: listed,
          actsLeftOut: acts.length - listed.length,
          waits,
        },
        ...(finished === undefined ? {} : { finished }),
      });
    }
    return jobs;
  }
}

function isWaiting(job: OwnedJob): boolean {
  for (const group of job.groups.values()) if (group.pending > 0) return true;
  return false;
}

/** Groups that have slots without a place in the end, or an update that stops on its way. */
function waitsOf(term: WhyTerm, job: OwnedJob, before: ReadonlyMap<string, number>): readonly PlanWait[] {
  return whyOf(term, job).groups.flatMap(({ group, pending, stage, detail }) =>
    pending === 0 && stage !== 'updating'
      ? []
      : [{ group, waiting: pending, waitingBefore: before.get(group) ?? 0, stage, detail }],
  );
}
