/**
 * The specialised MapReduce scheduler of the paper's section 6.
 *
 * - `spec.ts`: its part of a run's spec; `mapreduce-job.ts`: a job of two phases, and how jobs are drawn
 * - `policy.ts`: how many workers a job gets; `running.ts`: a job on its way; `meter.ts`: what became of the jobs
 */
import type { SeededRandom } from '../../../src/core/random/random.ts';
import type { SimJob } from '../workload/workload.ts';
import { ANY_HOST } from '../workload/workload.ts';
import type { CoreCommit } from '../model/core-commit.ts';
import { Fifo } from '../model/fifo.ts';
import { Placer } from '../model/placer.ts';
import { PrivateCopy } from '../model/private-copy.ts';
import type { ModelWorld } from '../model/model.ts';
import type { ElasticJob } from './mapreduce-job.ts';
import type { ElasticMeter } from './meter.ts';
import { mostOf, targetWithin, viewOf } from './policy.ts';
import { RunningJob } from './running.ts';
import type { ElasticSpec } from './spec.ts';

/**
 * Gives a job as many workers as its policy allows and the idle resources of the whole cell hold, grows running jobs as capacity is
 * freed, and gives workers back as soon as a phase has no use for them. Private copy, placement and commit are those of every
 * other scheduler.
 */
export class ElasticScheduler {
  readonly #world: ModelWorld;
  readonly #spec: ElasticSpec;
  readonly #meter: ElasticMeter;
  readonly #commit: CoreCommit;
  readonly #copy: PrivateCopy;
  readonly #placer: Placer;
  readonly #queue = new Fifo<RunningJob>();
  #busy = false;

  constructor(
    world: ModelWorld,
    spec: ElasticSpec,
    meter: ElasticMeter,
    commit: CoreCommit,
    chance: SeededRandom,
  ) {
    this.#world = world;
    this.#spec = spec;
    this.#meter = meter;
    this.#commit = commit;
    this.#copy = new PrivateCopy(world.cell);
    this.#placer = new Placer(world.cell.hosts, world.cell.groupBit, world.spec.placement, chance);
  }

  submit(job: ElasticJob): void {
    this.#meter.submitted();
    this.#enqueue(new RunningJob(job));
  }

  #enqueue(running: RunningJob): void {
    if (running.queued || running.isOver) return;
    running.queued = true;
    this.#queue.push(running);
    if (!this.#busy) this.#next();
  }

  /** Unless it has all that its policy would ever give it. */
  #retryLater(running: RunningJob, seconds: number): void {
    if (running.workers.length >= mostOf(this.#spec.policy, running.job, running.phase)) return;
    const retry = ++running.retries;
    this.#world.time.after(seconds, 'again', () => {
      if (retry === running.retries) this.#enqueue(running);
    });
  }

  #next(): void {
    this.#busy = false;
    while (!this.#busy) {
      const running = this.#queue.shift();
      if (running === undefined) return;
      running.queued = false;
      if (!running.isOver) this.#begin(running);
    }
  }

  /** What the policy allows is worked out on the copy, at the price of deciding about so many workers. */
  #begin(running: RunningJob): void {
    this.#copy.sync(this.#world.cell);
    const begunSeconds = this.#world.time.nowSeconds;
    const wanted = this.#wantedFor(running);
    if (wanted === 0) {
      this.#retryLater(running, this.#spec.growEverySeconds);
      return;
    }
    this.#busy = true;
    running.queued = true;
    const { jobSeconds, taskSeconds } = this.#world.spec.decision.batch;
    this.#world.time.after(jobSeconds + taskSeconds * wanted, 'decided', () => {
      running.queued = false;
      if (!running.isOver) this.#decided(running, wanted, begunSeconds);
      this.#next();
    });
  }

  /** Workers that it should get now: up to its target, and no more than the idle resources of the whole cell could hold. */
  #wantedFor({ job, phase, workers }: RunningJob): number {
    const view = viewOf(this.#copy, this.#world.cell);
    return Math.max(0, targetWithin(this.#spec.policy, job, phase, workers.length, view) - workers.length);
  }

  #decided(running: RunningJob, wanted: number, begunSeconds: number): void {
    const { time, spec } = this.#world;
    const scheduler = this.#meter.scheduler;
    // The map phase may have ended while it was being decided: what is placed is what is of use now.
    const useful = Math.min(wanted, running.phase.activities - running.workers.length);
    const job = asJob(running.job);
    this.#world.countUse();
    const placed = this.#placer.place(this.#copy, job, Math.max(0, useful));
    if (placed.count === 0) {
      scheduler.thought('no-capacity', begunSeconds, time.nowSeconds);
      this.#retryLater(running, this.#spec.growEverySeconds);
      return;
    }
    const landed = this.#commit.commit(this.#copy, placed, job, 'incremental');
    const end = landed.conflicts === 0 ? 'useful' : 'wasted';
    scheduler.thought(end, begunSeconds, time.nowSeconds);
    scheduler.committed(landed);
    if (landed.hosts.length > 0) {
      running.join(landed.hosts, time.nowSeconds);
      this.#planEnd(running);
    }
    this.#retryLater(running, landed.conflicts > 0 ? spec.retry.delaySeconds : this.#spec.growEverySeconds);
  }

  /** Enters the end of the phase anew, since other workers have moved it. */
  #planEnd(running: RunningJob): void {
    const plan = ++running.plan;
    this.#world.time.after(running.secondsLeft, 'phase', () => {
      if (plan === running.plan) this.#phaseEnded(running);
    });
  }

  #phaseEnded(running: RunningJob): void {
    const { nowSeconds } = this.#world.time;
    const idle = running.endPhase(nowSeconds);
    if (running.isOver) this.#meter.ended(running, nowSeconds);
    else {
      this.#planEnd(running);
      this.#enqueue(running);
    }
    if (idle.length > 0)
      this.#world.ended(asJob(running.job), { hosts: Int32Array.from(idle), devices: null });
  }
}

/** As the placement and the commit know it: a batch job of identical tasks. */
function asJob({ id, submitSeconds, workers, worker }: ElasticJob): SimJob {
  return {
    ...{ id, submitSeconds, work: 'batch', tasks: workers, shape: worker, gang: false },
    ...{ hostGroups: ANY_HOST, runtimeSeconds: 0 },
  };
}
