import { quantileOf } from '../workload/distribution.ts';
import type { SchedulerMeter, Slices, Span } from '../model/meters.ts';
import { shareOf } from '../model/meters.ts';
import { mean, standardDeviation } from '../model/statistics.ts';
import type { SharedCell } from '../model/shared-cell.ts';
import type { UseMeter, ModelWorld } from '../model/model.ts';
import type { ElasticPolicy } from './policy.ts';
import type { RunningJob } from './running.ts';

/** Fine enough to see the workers of one job come and go. */
const USE_SLICE_SECONDS = 60;
/** Quantiles of the speed-ups that are kept: every half per cent. */
const QUANTILES = 200;
/** A job that became faster by less gained nothing to speak of. */
const GAIN = 1.05;

/** What became of the elastic jobs of one run. Plain data. */
export interface ElasticResult {
  readonly policy: ElasticPolicy;
  readonly submitted: number;
  readonly ended: number;
  /** Ascending, equally spaced: the first is the least speed-up, the last the largest. Empty: no job ended. */
  readonly speedUps: readonly number[];
  readonly gainedShare: number;
  readonly workersAsked: number;
  readonly workersAtMost: number;
  readonly busyness: number;
  readonly conflictFraction: number | null;
  /** Shares of the whole cell, one for each slice. */
  readonly useSliceSeconds: number;
  readonly cpuUse: readonly number[];
  readonly memoryUse: readonly number[];
  readonly cpuUseDeviation: number;
}

/** Counts what the elastic scheduler does. */
export class ElasticMeter {
  readonly scheduler: SchedulerMeter;
  readonly #policy: ElasticPolicy;
  readonly #use: UseMeter;
  readonly #speedUps: number[] = [];
  #submitted = 0;
  #workersAsked = 0;
  #workersAtMost = 0;

  constructor(world: ModelWorld, scheduler: SchedulerMeter, policy: ElasticPolicy) {
    this.scheduler = scheduler;
    this.#policy = policy;
    this.#use = world.meterUse(USE_SLICE_SECONDS);
  }

  submitted(): void {
    this.#submitted += 1;
  }

  ended(running: RunningJob, nowSeconds: number): void {
    this.#speedUps.push(running.speedUp(nowSeconds));
    this.#workersAsked += running.job.workers;
    this.#workersAtMost += running.workersMost;
  }

  result(span: Span, whole: Pick<SharedCell, 'cpuMilliTotal' | 'memoryMibTotal'>): ElasticResult {
    const ascending = this.#speedUps.sort((a, b) => a - b);
    const { useful, wasted, succeeded, failed } = this.scheduler;
    const shares = (slices: Slices, all: number): number[] =>
      slices.sums.slice(0, slices.seen(span.stoppedAtSeconds)).map((one) => one / slices.seconds / all);
    const cpuUse = shares(this.#use.cpuMilli, whole.cpuMilliTotal);
    return {
      policy: this.#policy,
      submitted: this.#submitted,
      ended: ascending.length,
      speedUps:
        ascending.length === 0
          ? []
          : Array.from({ length: QUANTILES + 1 }, (_, at) => quantileOf(ascending, at / QUANTILES)),
      gainedShare: mean(ascending.map((one) => (one >= GAIN ? 1 : 0))) ?? 0,
      workersAsked: this.#workersAsked,
      workersAtMost: this.#workersAtMost,
      busyness: shareOf(useful.total + wasted.total, span.seconds),
      conflictFraction: succeeded + failed === 0 ? null : failed / Math.max(1, succeeded),
      useSliceSeconds: this.#use.cpuMilli.seconds,
      cpuUse,
      memoryUse: shares(this.#use.memoryMib, whole.memoryMibTotal),
      cpuUseDeviation: standardDeviation(cpuUse),
    };
  }
}
