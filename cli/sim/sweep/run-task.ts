import type { RunOptions } from '../../../sim/omega/point/point.ts';
import { runPoint } from '../../../sim/omega/point/point.ts';
import type { FinishedPoint, PointTask } from './task.ts';
import { openTrace } from '../workload/trace.ts';

/** Runs the task to its end, or until it is stopped. */
export async function runTask(
  { spec, trace }: PointTask,
  options: Pick<RunOptions, 'onProgress' | 'stops'> = {},
): Promise<FinishedPoint> {
  const startMs = performance.now();
  const jobs = trace === null ? null : await openTrace(trace);
  const result = runPoint(spec, jobs === null ? options : { ...options, jobs });
  return { result, wallSeconds: (performance.now() - startMs) / 1000 };
}
