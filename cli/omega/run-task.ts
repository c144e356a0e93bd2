import { runPoint } from '../../sim/omega/model/run-point.ts';
import type { FinishedPoint, PointTask } from './task.ts';
import { openTrace } from './trace.ts';

export async function runTask(task: PointTask, onProgress: (done: number) => void): Promise<FinishedPoint> {
  const startMs = performance.now();
  const jobs = task.trace === null ? null : await openTrace(task.trace);
  const result = runPoint(task.spec, jobs === null ? { onProgress } : { onProgress, jobs });
  return { result, wallSeconds: (performance.now() - startMs) / 1000 };
}
