/**
 * Finishes what has no owner, and deletes records past their time:
 *
 * - `intent-sweeper.ts`: before each sweep, ends intents of gangs that their owner left behind
 * - `reaper.ts`: iterates over all jobs, some in each sweep, and handles those of which this monitor has rank 0
 * - `leftovers.ts`: stops and releases allocations of stopped or deleted jobs without an owner
 * - `returned.ts`: by changes of hosts, stops what they bring back that was given up while they were lost; `host-orders.ts`:
 *   the orders
 * - `retention.ts`: deletes ended jobs, and versions and outcomes past their retention, of jobs with an owner too; jobs that
 *   their users deleted, on hosts first. `reaper-limits.ts` says how long and how many are kept, `ended-jobs.ts` which ended
 *   jobs are too many
 * - `full-buckets.ts`: deletes buckets of budgets that have long been full
 *
 * Who else deletes records: the owner of a job, its allocations when they are released, and the outcomes that are too many then
 * (`schedulers/commit/releaser.ts`); monitors, hosts that an operator removed (`hosts/removed-hosts.ts`), tokens (`tokens/`), limits, pauses
 * and volumes (`limits/`), verdicts that are over (`detector/verdicts.ts`); arbiters, their grants (`arbiter/`).
 * Records under a session of the store go with it: that a role or a host is alive, who keeps grants, who owns a job.
 */
import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import type { KeptRecords } from '../../src/wire/api/cell-api.ts';
import { monitorRank } from '../view/rank.ts';
import { EndedJobs } from './ended-jobs.ts';
import { FullBuckets } from './full-buckets.ts';
import { HostOrders } from './host-orders.ts';
import { IntentSweeper } from './intent-sweeper.ts';
import type { LeftoversDeps } from './leftovers.ts';
import { Leftovers } from './leftovers.ts';
import type { ReaperLimits } from './reaper-limits.ts';
import type { DueJob, RetentionDeps } from './retention.ts';
import { Retention } from './retention.ts';
import { Returned } from './returned.ts';

export interface ReaperDeps extends LeftoversDeps, RetentionDeps {
  readonly limits: ReaperLimits;
}

const SWEEP_MS = 1_000;
/** Jobs that a sweep looks at together; the next ones come after that. */
const JOBS_PER_SLICE = 500;
/**
 * What is deleted makes a sweep go on to the next jobs at once, so often at most, and all sweeps of the next pass: where many jobs
 * end, a pass over those that stay must not take long either.
 */
const SLICES_MAX = 10;
/** What has no owner is finished by questions to hosts. */
const JOBS_AT_ONCE = 16;

/**
 * Level-triggered: it checks every job again and again and remembers nothing that matters, so a restart or a missed change
 * loses nothing (S1.22, S1.36). Jobs are divided among the living monitors by rendezvous hashing; two that act on the same
 * job are kept apart by the compares.
 *
 * Absence is no evidence here either: capacity is given back only when the host confirmed the release, answered that it
 * never had the allocation, or was declared lost and stayed so for the orphan time.
 */
export class Reaper {
  readonly #deps: ReaperDeps;
  readonly #ownerlessSince = new Map<string, number>();
  readonly #intents: IntentSweeper;
  readonly #leftovers: Leftovers;
  readonly #returned: Returned;
  readonly #retention: Retention;
  readonly #fullBuckets: FullBuckets;
  readonly #endedJobs: EndedJobs;
  readonly #endedRuns: EndedJobs;
  readonly #sweeps: PeriodicTask;
  #jobs: Iterator<string> | null = null;
  /** Were there jobs to delete in this pass so far, and in the one before? */
  readonly #busy = { now: false, before: false };

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
    this.#intents = new IntentSweeper(deps);
    const orders = new HostOrders(deps);
    this.#leftovers = new Leftovers(deps, orders);
    this.#returned = new Returned(deps, orders);
    this.#retention = new Retention(deps);
    this.#fullBuckets = new FullBuckets(deps);
    this.#endedJobs = new EndedJobs(deps.limits.jobsKept);
    this.#endedRuns = new EndedJobs(deps.limits.runsKept);
    this.#sweeps = new PeriodicTask(deps.clock, SWEEP_MS, () => this.sweep());
  }

  /** What is kept of the past, beside what may be. */
  kept(): KeptRecords {
    const { copy, limits } = this.#deps;
    return {
      runs: { count: this.#endedRuns.counted, most: limits.runsKept, forMs: limits.runRetentionMs },
      jobs: { count: this.#endedJobs.counted, most: limits.jobsKept, forMs: limits.jobRetentionMs },
      versions: {
        count: copy.versions.size,
        mostEach: limits.versionsKept,
        forMs: limits.versionRetentionMs,
      },
      outcomes: { count: copy.outcomes.size, mostEach: limits.outcomesPerSlot },
    };
  }

  async close(): Promise<void> {
    const ended = this.#sweeps.close();
    this.#intents.close();
    await ended;
  }

  /** One sweep over the next jobs. Never rejects: what fails is tried again in a later sweep. */
  async sweep(): Promise<void> {
    await this.#intents.sweep();
    // No further than the end of the pass: what this sweep deleted may still be in the copy.
    for (let slice = 0; slice < SLICES_MAX; slice++)
      if (!(await this.#sweepSlice()) || this.#jobs === null) break;
    await this.#returned.sweep();
    await this.#try('full buckets', () => this.#fullBuckets.sweep());
  }

  /** @returns false: there is little to delete */
  async #sweepSlice(): Promise<boolean> {
    const jobs = this.#nextJobs().values();
    const due: DueJob[] = [];
    const lane = async (): Promise<void> => {
      for (const jobKey of jobs) {
        const endedMs = this.#endedMs(jobKey);
        if (monitorRank(this.#deps, jobKey) !== 0) continue;
        await this.#try(jobKey, () => this.#reap(jobKey, endedMs, due));
      }
    };
    await Promise.all(Array.from({ length: JOBS_AT_ONCE }, lane));
    if (due.length === 0) return this.#busy.before;
    this.#busy.now = true;
    await this.#try('ended jobs', () => this.#retention.dropEnded(due));
    return true;
  }

  async #try(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.log.debug({ what, error }, 'reaping failed; it is tried again');
    }
  }

  #nextJobs(): string[] {
    const jobs: string[] = [];
    for (let count = 0; count < JOBS_PER_SLICE; count++) {
      this.#jobs ??= this.#allJobs();
      const next = this.#jobs.next();
      if (next.done === true) {
        this.#jobs = null;
        this.#endedJobs.count();
        this.#endedRuns.count();
        this.#busy.before = this.#busy.now;
        this.#busy.now = false;
        break;
      }
      jobs.push(next.value);
    }
    return jobs;
  }

  *#allJobs(): Generator<string> {
    const { copy } = this.#deps;
    const all = new Set([
      ...copy.jobs.names(),
      ...copy.allocationsByJob.keys(),
      ...copy.outcomesByJob.keys(),
    ]);
    for (const jobKey of this.#ownerlessSince.keys())
      if (!all.has(jobKey)) this.#ownerlessSince.delete(jobKey);
    yield* all;
  }

  /** @param due an ended job whose time is over is added to it */
  async #reap(jobKey: string, endedMs: number | null, due: DueJob[]): Promise<void> {
    const { copy, limits } = this.#deps;
    const ownerless = this.#ownerlessForMs(jobKey) >= limits.ownerlessMs;
    // A job with an owner needs nothing here, unless its past piles up: its record is not even decoded.
    if (copy.owners.has(jobKey) && !this.#pilesUp(jobKey)) return;
    const record = copy.jobs.get(jobKey)?.value;
    if (ownerless && record?.desired !== 'run') await this.#leftovers.finish(jobKey, record !== undefined);
    if (record === undefined) return this.#retention.dropOldOutcomes(jobKey);
    await this.#retention.dropSurplusOutcomes(jobKey, record.job);
    await this.#retention.dropOldVersions(jobKey);
    if (endedMs === null) return;
    const ended = this.#retention.dueJob(jobKey, endedMs, this.#endedLike(jobKey).isSurplus(endedMs));
    if (ended !== null) due.push(ended);
  }

  #pilesUp(jobKey: string): boolean {
    const { copy, limits } = this.#deps;
    const { outcomesPerSlot } = limits;
    if (copy.versionsByJob.of(jobKey).size > 0) return true;
    return outcomesPerSlot !== null && copy.outcomesByJob.of(jobKey).size > outcomesPerSlot;
  }

  /** Of jobs of all monitors: how many may stay is said for the cell. */
  #endedMs(jobKey: string): number | null {
    const endedMs = this.#retention.endedMs(jobKey);
    if (endedMs !== null) this.#endedLike(jobKey).saw(endedMs);
    return endedMs;
  }

  #endedLike(jobKey: string): EndedJobs {
    return this.#deps.copy.jobs.get(jobKey)?.value.job.oneOff === true ? this.#endedRuns : this.#endedJobs;
  }

  #ownerlessForMs(jobKey: string): number {
    if (this.#deps.copy.owners.has(jobKey)) {
      this.#ownerlessSince.delete(jobKey);
      return 0;
    }
    const nowMs = this.#deps.clock.monotonicMs();
    const since = this.#ownerlessSince.get(jobKey) ?? nowMs;
    this.#ownerlessSince.set(jobKey, since);
    return nowMs - since;
  }
}
