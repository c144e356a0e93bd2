/**
 * Runs the points of an experiment:
 *
 * 1. `task.ts` names a point by a hash of its input; a point that `out-folder.ts` has of an earlier run is not run again.
 * 2. `pool.ts` gives the others to threads. Each thread is a `worker.ts`, which calls `run-task.ts`.
 * 3. `progress.ts` prints how far the sweep is; an interrupt stops the threads by a flag in shared memory.
 */
import { onAbort } from '../../../src/ports/on-abort.ts';
import type { Context } from '../../command/context.ts';
import type { OutFolder } from './out-folder.ts';
import { runAll } from './pool.ts';
import { Progress } from './progress.ts';
import type { FinishedPoint, PointTask } from './task.ts';
import { keyOf } from './task.ts';

export interface NamedTask extends PointTask {
  readonly name: string;
}

export interface Swept {
  /** By key. */
  readonly points: ReadonlyMap<string, FinishedPoint>;
  /** Those that the interrupt ended on their way: what they had by then. Not kept in the folder. */
  readonly stopped: ReadonlyMap<string, FinishedPoint>;
  /** All that were asked for. */
  readonly wanted: number;
  readonly interrupted: boolean;
}

const STOPPING = 'stopping; a second interrupt ends at once, without a report';

export interface SweepOptions {
  readonly threads: number;
  readonly resume: boolean;
}

/** Runs the tasks, each once however often it is named, and keeps each whole result in the folder as soon as it is there. */
export async function sweep(
  context: Context,
  folder: OutFolder,
  tasks: readonly NamedTask[],
  options: SweepOptions,
): Promise<Swept> {
  const byKey = new Map(tasks.map((task) => [keyOf(task), task]));
  const points = new Map<string, FinishedPoint>();
  const stopped = new Map<string, FinishedPoint>();
  await folder.make();
  if (options.resume) {
    for (const key of byKey.keys()) {
      const known = await folder.readPoint(key);
      if (known !== null) points.set(key, known);
    }
  }
  const taken = points.size;
  const todo = [...byKey].filter(([key]) => !points.has(key)).map(([key, task]) => ({ ...task, key }));
  if (taken > 0) context.terminal.err(`${String(taken)} of ${String(byKey.size)} points are there already\n`);
  const progress = new Progress(context.terminal, todo.length);
  // Interrupted before the first point, or with all points kept: the report is made of what is there.
  if (!context.interrupted.aborted && todo.length > 0) {
    const forget = onAbort(context.interrupted, () => progress.say(STOPPING));
    await runAll(todo, {
      threads: options.threads,
      signal: context.interrupted,
      onProgress: (underWay) => progress.moved(underWay),
      onFinished: async ({ key, name }, point) => {
        if (point.result.stoppedAtSeconds !== undefined) {
          stopped.set(key, point);
          return;
        }
        points.set(key, point);
        await folder.writePoint(key, point);
        progress.finished(`${name}  (${point.wallSeconds.toFixed(1)} s)`);
      },
    });
    forget();
  }
  progress.end();
  return { points, stopped, wanted: byKey.size, interrupted: points.size < byKey.size };
}
