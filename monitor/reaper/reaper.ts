/**
 * Finishes what has no owner, and deletes records past their time. Each sweep, for the next jobs:
 *
 * - `intent-sweeper.ts`: first ends intents of gangs that their owner left behind
 * - `reaper.ts`: iterates over all jobs, and handles those of which this monitor has rank 0
 * - `leftovers.ts`: stops and releases allocations of stopped or deleted jobs without an owner
 * - `returned.ts`: stops what hosts bring back that was given up while they were lost; `host-orders.ts`: the orders
 * - `retention.ts`: deletes outcomes and one-off runs past their retention, on hosts first
 */
import { ORPHAN_MS } from '../../src/core/slots/given-up.ts';
import { OUTCOMES_PER_SLOT_MAX } from '../../src/core/slots/outcomes.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { monitorRank } from '../view/rank.ts';
import { HostOrders } from './host-orders.ts';
import { IntentSweeper } from './intent-sweeper.ts';
import type { LeftoversDeps } from './leftovers.ts';
import { Leftovers } from './leftovers.ts';
import type { RetentionDeps } from './retention.ts';
import { Retention } from './retention.ts';
import { Returned } from './returned.ts';

export interface ReaperTimes {
  /** How long a job may be without an owner before its leftovers are finished here. */
  readonly ownerlessMs: number;
  /** How long a lost host's allocation that is to end is kept before its capacity is given back. */
  readonly orphanMs: number;
  /** How long a finished one-off run, its outcome and its output stay. */
  readonly runRetentionMs: number;
  /** How long the outcomes of a job whose record is gone stay. */
  readonly outcomeRetentionMs: number;
}

export const REAPER_TIMES: ReaperTimes = {
  ownerlessMs: 60_000,
  orphanMs: ORPHAN_MS,
  runRetentionMs: 3_600_000,
  outcomeRetentionMs: 24 * 3_600_000,
};

export interface ReaperDeps extends LeftoversDeps, RetentionDeps {
  readonly times: ReaperTimes;
}

const SWEEP_MS = 1_000;
/** Jobs in one sweep; the next sweep continues with the next ones. */
const JOBS_PER_SWEEP = 500;

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
  readonly #stop: () => void;
  #jobs: Iterator<string> | null = null;
  #sweeping: Promise<void> | null = null;

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
    this.#intents = new IntentSweeper(deps);
    const orders = new HostOrders(deps);
    this.#leftovers = new Leftovers(deps, orders);
    this.#returned = new Returned(deps, orders);
    this.#retention = new Retention(deps);
    this.#stop = every(deps.clock, SWEEP_MS, () => {
      this.#sweeping ??= this.sweep().finally(() => (this.#sweeping = null));
    });
  }

  async close(): Promise<void> {
    this.#stop();
    this.#intents.close();
    await this.#sweeping;
  }

  /** One sweep over the next jobs. Never rejects: what fails is tried again in a later sweep. */
  async sweep(): Promise<void> {
    await this.#intents.sweep();
    for (const jobKey of this.#nextJobs()) {
      if (monitorRank(this.#deps, jobKey) !== 0) continue;
      try {
        await this.#reap(jobKey);
      } catch (error) {
        this.#deps.log.debug({ jobKey, error }, 'reaping failed; it is tried again');
      }
    }
    await this.#returned.sweep();
  }

  #nextJobs(): string[] {
    const jobs: string[] = [];
    for (let count = 0; count < JOBS_PER_SWEEP; count++) {
      this.#jobs ??= this.#allJobs();
      const next = this.#jobs.next();
      if (next.done === true) {
        this.#jobs = null;
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

  async #reap(jobKey: string): Promise<void> {
    const { copy, times } = this.#deps;
    const ownerless = this.#ownerlessForMs(jobKey) >= times.ownerlessMs;
    // A job with an owner needs nothing here, unless its outcomes pile up: its record is not even decoded.
    if (copy.owners.has(jobKey) && copy.outcomesByJob.of(jobKey).size <= OUTCOMES_PER_SLOT_MAX) return;
    const record = copy.jobs.get(jobKey)?.value;
    if (ownerless && record?.desired !== 'run') await this.#leftovers.finish(jobKey, record !== undefined);
    if (record === undefined) return this.#retention.dropOldOutcomes(jobKey);
    await this.#retention.dropSurplusOutcomes(jobKey, record.job);
    if (record.job.oneOff) await this.#retention.dropRun(jobKey);
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
