import type { ElasticMeter, ElasticResult } from '../elastic/meter.ts';
import type { WorkClass } from '../workload/workload.ts';
import type { ClassMeter, SchedulerMeter, SchedulerWork, Slices, Span } from '../model/meters.ts';
import { shareOf } from '../model/meters.ts';
import type { PointSpec } from './spec.ts';
import { mean, median, medianDeviation, percentile } from '../model/statistics.ts';
import type { ModelWorld } from '../model/model.ts';

/** What one run measured. Plain data: it goes between threads and into files. */
export interface PointResult {
  readonly spec: PointSpec;
  readonly hosts: number;
  /** The run was ended there, before its horizon; everything is about the time up to then. Absent: it went to its end. */
  readonly stoppedAtSeconds?: number;
  readonly sliceSeconds: number;
  readonly schedulers: readonly SchedulerResult[];
  readonly classes: readonly ClassResult[];
  readonly cpuUse: Series;
  readonly memoryUse: Series;
  readonly events: number;
  /** null: the run had no elastic jobs. */
  readonly elastic: ElasticResult | null;
}

/**
 * A share for each slice of the run (each day, if it is long enough), their median and median absolute deviation. Of a run
 * that was stopped: for each slice that it saw whole.
 */
export interface Series {
  readonly median: number;
  readonly deviation: number;
  readonly mean: number;
  readonly slices: readonly number[];
}

export interface SchedulerResult {
  readonly name: string;
  readonly work: SchedulerWork;
  /** Omega's: time of attempts that placed something, conflicts or not. */
  readonly busyness: Series;
  /** With the attempts that found no capacity, too. */
  readonly occupied: Series;
  /** Share of the run thought in vain because of a conflict. */
  readonly wasted: number;
  /** What the submitted jobs would take without conflicts. */
  readonly noConflictBusyness: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Failed for each successful transaction: 3 means four tries. null: no transaction at all. */
  readonly conflictFraction: number | null;
  /** Of the tasks that were committed or lost to a conflict. */
  readonly taskConflictFraction: number | null;
  readonly tasksCommitted: number;
  readonly tasksConflicted: number;
  readonly tasksRebased: number;
  readonly attempts: number;
}

export interface ClassResult {
  readonly work: WorkClass;
  readonly submitted: number;
  readonly placed: number;
  /** Given up after too many tries. */
  readonly abandoned: number;
  /** Still wholly or partly without a place when the run ended. */
  readonly waiting: number;
  /** Of those, the ones that were never tried. */
  readonly neverTried: number;
  readonly tasksSubmitted: number;
  readonly tasksPlaced: number;
  /** Submission to first try, seconds; null: none was tried. */
  readonly waitMean: number | null;
  readonly waitP90: number | null;
  /** Submission to the last task's placement. */
  readonly placedMean: number | null;
  readonly placedP90: number | null;
  readonly slowdownMean: number | null;
}

/** How much simulated time the result is about. */
export function simulatedSeconds({ spec, stoppedAtSeconds }: PointResult): number {
  return stoppedAtSeconds ?? spec.horizonSeconds;
}

/** @param stoppedAtSeconds null: the run went to its horizon */
export function resultOf(
  spec: PointSpec,
  world: ModelWorld,
  schedulers: readonly SchedulerMeter[],
  classes: readonly ClassMeter[],
  elastic: ElasticMeter | null,
  stoppedAtSeconds: number | null,
): PointResult {
  const { cell } = world;
  const span = { seconds: stoppedAtSeconds ?? spec.horizonSeconds, stoppedAtSeconds };
  return {
    spec,
    hosts: cell.size,
    ...(stoppedAtSeconds === null ? {} : { stoppedAtSeconds }),
    sliceSeconds: world.used.cpuMilli.seconds,
    schedulers: schedulers.map((meter) => schedulerResult(meter, span)),
    classes: classes.filter(({ submitted }) => submitted > 0).map(classResult),
    cpuUse: seriesOf([world.used.cpuMilli], cell.cpuMilliTotal, span),
    memoryUse: seriesOf([world.used.memoryMib], cell.memoryMibTotal, span),
    events: world.time.events,
    elastic: elastic?.result(span, cell) ?? null,
  };
}

function schedulerResult(meter: SchedulerMeter, span: Span): SchedulerResult {
  const { succeeded, failed, tasksCommitted, tasksConflicted } = meter;
  const tasks = tasksCommitted + tasksConflicted;
  return {
    name: meter.name,
    work: meter.work,
    busyness: seriesOf([meter.useful, meter.wasted], 1, span),
    occupied: seriesOf([meter.useful, meter.wasted, meter.noCapacity], 1, span),
    wasted: shareOf(meter.wasted.total, span.seconds),
    noConflictBusyness: shareOf(meter.thinkSecondsWanted, span.seconds),
    succeeded,
    failed,
    conflictFraction: succeeded + failed === 0 ? null : failed / Math.max(1, succeeded),
    taskConflictFraction: tasks === 0 ? null : tasksConflicted / tasks,
    tasksCommitted,
    tasksConflicted,
    tasksRebased: meter.tasksRebased,
    attempts: meter.attempts,
  };
}

function classResult(meter: ClassMeter): ClassResult {
  const { submitted, abandoned, placed, waits } = meter;
  return {
    work: meter.work,
    submitted,
    placed: placed.length,
    abandoned,
    waiting: submitted - placed.length - abandoned,
    neverTried: submitted - waits.length,
    tasksSubmitted: meter.tasksSubmitted,
    tasksPlaced: meter.tasksPlaced,
    waitMean: mean(waits),
    waitP90: percentile(waits, 0.9),
    placedMean: mean(placed),
    placedP90: percentile(placed, 0.9),
    slowdownMean: placed.length === 0 ? null : meter.slowdownSum / placed.length,
  };
}

/** Sums by slice as shares of `whole`. */
function seriesOf(added: readonly Slices[], whole: number, { seconds, stoppedAtSeconds }: Span): Series {
  const first = added[0] as Slices;
  const sliceSeconds = Math.min(first.seconds, seconds);
  const slices = first.sums.slice(0, first.seen(stoppedAtSeconds)).map((_, slice) => {
    const sum = added.reduce((total, one) => total + (one.sums[slice] ?? 0), 0);
    return shareOf(sum, sliceSeconds) / whole;
  });
  const total = added.reduce((all, one) => all + one.total, 0);
  return {
    median: median(slices),
    deviation: medianDeviation(slices),
    mean: shareOf(total, seconds) / whole,
    slices,
  };
}
