import { sleep } from '../../src/runtime/wait/wait.ts';
import { Waker } from '../../src/runtime/wait/waker.ts';
import type { CommitPipeline } from '../commit/commit.ts';
import type { DecidedPlan } from '../state/decided-plan.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { SchedulerWorld, Term } from '../state/state.ts';
import { TimeSlice } from '../../src/runtime/wait/time-slice.ts';
import type { Decider, Decision } from './decide.ts';
import { NOTHING } from './decide.ts';
import { FailedDecisions } from './failed-decisions.ts';
import { FairQueue } from './fair-queue.ts';

const SLICE_DECISIONS = 128;
/** What a millisecond of deciding counts for in the queue: constrained single decisions take some 6 µs each. */
const PLACEMENTS_PER_MS = 150;

export interface DecisionLoopParts {
  readonly decider: Pick<Decider, 'decide'>;
  /** Deciding waits while it has no room: undecided jobs cost nothing, and are decided on newer knowledge. */
  readonly pipeline: Pick<CommitPipeline, 'underWay' | 'committing' | 'hasRoom'>;
  readonly jobOf: (key: string) => OwnedJob | undefined;
  readonly runPlan: (job: OwnedJob, plan: DecidedPlan) => void;
  /** How many placements may be at the commit at once, as fast as the store is now. */
  readonly storeTakes: () => number;
  /** No more is decided for now: commits that wait to be filled should go. */
  readonly onPause: () => void;
}

/** Decides on one job after the other, and hands over the plans. */
export class DecisionLoop {
  readonly #term: Term;
  readonly #parts: DecisionLoopParts;
  readonly #queue = new FairQueue();
  readonly #work = new Waker();
  readonly #failed: FailedDecisions;
  #isDeciding = false;

  constructor(term: Term, parts: DecisionLoopParts) {
    this.#term = term;
    this.#parts = parts;
    this.#failed = new FailedDecisions(term);
  }

  /** More jobs wait, and the next one is decided on at once. */
  get isDeciding(): boolean {
    return this.#isDeciding;
  }

  /** Jobs that wait for a decision, and placements that wait for their commit. */
  get backlog(): number {
    return this.#queue.size + this.#parts.pipeline.underWay;
  }

  push(job: OwnedJob): void {
    this.#queue.push(job.namespace, job.record.job.precedence, job.key);
    this.#work.wake();
  }

  remove(jobKey: string): void {
    this.#queue.remove(jobKey);
  }

  async run(): Promise<void> {
    const { world, signal, options } = this.#term;
    const slice = new TimeSlice(world.clock, signal, SLICE_DECISIONS);
    while (!signal.aborted) {
      const key = this.#mayDecide() ? this.#queue.next() : undefined;
      const job = key === undefined ? undefined : this.#parts.jobOf(key);
      if (key === undefined) {
        this.#pause();
        await this.#work.wait(signal);
        slice.restart();
        continue;
      }
      if (job === undefined) continue;
      const decision = this.#decide(job);
      // With a think time, plans that were decided before must not wait for it.
      this.#isDeciding = options.thinkMs === null && this.#queue.size > 0;
      if (options.thinkMs !== null) await this.#think(options.thinkMs, decision);
      this.#runPlans(job, decision);
      if (!slice.step()) continue;
      this.#pause();
      await slice.yield();
    }
  }

  #mayDecide(): boolean {
    const { pipeline, storeTakes } = this.#parts;
    return pipeline.hasRoom && pipeline.committing < storeTakes();
  }

  planEnded(): void {
    this.#work.wake();
  }

  #pause(): void {
    this.#isDeciding = false;
    this.#parts.onPause();
  }

  #decide(job: OwnedJob): Decision {
    const { clock, metrics } = this.#term.world;
    const { stats } = this.#term;
    const soughtBefore = stats.decisions;
    const startedMs = clock.monotonicMs();
    const decision = this.#decidedOn(job);
    const tookMs = clock.monotonicMs() - startedMs;
    // By time as well: a picky job that searches long and places nothing pays for its search (S3.48).
    this.#queue.charge(job.namespace, Math.max(1, decision.placed, tookMs * PLACEMENTS_PER_MS));
    stats.busyMs += tookMs;
    if (stats.decisions > soughtBefore) metrics.observe('moorage_scheduler_decision_seconds', tookMs / 1000);
    return this.#traced(job, decision, tookMs);
  }

  /** @throws what deciding threw, when it does for many jobs */
  #decidedOn(job: OwnedJob): Decision {
    if (this.#failed.waits(job)) return NOTHING;
    const entriesBefore = job.entries.size;
    try {
      const decision = this.#parts.decider.decide(job);
      this.#failed.succeeded(job);
      return decision;
    } catch (error) {
      this.#failed.failed(job, error, entriesBefore);
      return NOTHING;
    }
  }

  /** A decision with plans is a span, to which the plans belong. */
  #traced(job: OwnedJob, decision: Decision, tookMs: number): Decision {
    if (decision.plans.length === 0) return decision;
    const traceparent = traceDecision(this.#term.world, job, decision.placed, tookMs);
    if (traceparent === undefined) return decision;
    return { ...decision, plans: decision.plans.map((plan) => ({ ...plan, traceparent })) };
  }

  /** Omega's model: a decision takes t_job + t_task for each task, and is committed at its end. */
  async #think(thinkMs: { readonly job: number; readonly task: number }, decision: Decision): Promise<void> {
    if (decision.plans.length === 0) return;
    const durationMs = thinkMs.job + thinkMs.task * decision.placed;
    this.#term.stats.busyMs += durationMs;
    await sleep(this.#term.world.clock, durationMs, this.#term.signal);
  }

  #runPlans(job: OwnedJob, decision: Decision): void {
    if (job.dropped) return;
    for (const plan of decision.plans) this.#parts.runPlan(job, plan);
    if (decision.more) this.#term.enqueue(job);
  }
}

/** Records a decision that was made just now. @returns to which its plans belong; undefined: it is not traced */
export function traceDecision(
  { tracer, clock }: Pick<SchedulerWorld, 'tracer' | 'clock'>,
  job: OwnedJob,
  placements: number,
  tookMs: number,
): string | undefined {
  const span = tracer?.begin('decide', job.record.traceparent, clock.nowMs() - tookMs) ?? null;
  span?.end({ job: job.key, placements });
  return span?.traceparent;
}
