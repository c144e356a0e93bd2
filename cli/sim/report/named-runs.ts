import type { PointResult } from '../../../sim/omega/point/result.ts';
import { simulatedSeconds } from '../../../sim/omega/point/result.ts';
import { duration, plural } from '../../../src/wire/values/words.ts';
import type { NamedTask, Swept } from '../sweep/sweep.ts';
import { keyOf } from '../sweep/task.ts';

/** A run and what it is called in tables and plots. */
export interface NamedResult {
  readonly label: string;
  readonly result: PointResult;
}

/** The results, in the order of the tasks; the label of a stopped run says how far it came. */
export function namedResults(tasks: readonly NamedTask[], { points, stopped }: Swept): NamedResult[] {
  return tasks.flatMap((task): NamedResult[] => {
    const key = keyOf(task);
    const { result } = points.get(key) ?? stopped.get(key) ?? {};
    if (result === undefined || simulatedSeconds(result) === 0) return [];
    return [{ label: isPartial(result) ? `${task.name}, first ${reached(result)}` : task.name, result }];
  });
}

const isPartial = ({ stoppedAtSeconds }: PointResult): boolean => stoppedAtSeconds !== undefined;
const reached = (result: PointResult): string => duration(simulatedSeconds(result) * 1000);

/** A sentence about what is missing; null: nothing is. */
export function partialText(tasks: readonly NamedTask[], results: readonly NamedResult[]): string | null {
  const partial = results.filter(({ result }) => isPartial(result)).map(({ result }) => result);
  const unbegun = tasks.length - results.length;
  if (partial.length + unbegun === 0) return null;
  const parts = partial.map(
    (result) =>
      `one stopped after ${reached(result)} of ${duration(result.spec.horizonSeconds * 1000)} of simulated time`,
  );
  if (unbegun > 0) parts.push(`${String(unbegun)} not begun`);
  const about = partial.length === 0 ? '' : ' What stands here is about the time up to then.';
  return `Partial: of ${plural(tasks.length, 'run')} ${parts.join(', ')}.${about}`;
}
