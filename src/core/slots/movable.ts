import type { Group, Job } from '../cell/job.ts';
import { liesOnHost } from '../cell/volume.ts';
import { updatePolicyOf } from './update-policy.ts';

/** Why no request moves allocations of the group to other hosts, for people; null: one may. */
export function whyFixed({ type }: Pick<Job, 'type'>, group: Group): string | null {
  if (type === 'system') return 'a system job has one allocation on every matching host';
  if (type === 'batch') return 'a batch task would begin again from its start';
  if (group.gang) return 'its gang would begin again as a whole';
  if (liesOnHost(group)) return 'its data lies on its host';
  const { onRequest, onDrain } = group.reschedule;
  if (onRequest === false) return 'reschedule.onRequest is false';
  if (onRequest === undefined && onDrain === false)
    return 'reschedule.onDrain is false, and reschedule.onRequest says nothing else';
  return null;
}

/**
 * The same where nobody asks for this job by name (S0.40): then a group is also left alone of which nothing might be up during
 * the move, by what its own update policy allows.
 */
export function whyNotRebalanced(job: Pick<Job, 'type'>, group: Group): string | null {
  const fixed = whyFixed(job, group);
  if (fixed !== null) return fixed;
  const { strategy, parallelism } = updatePolicyOf(group);
  if (strategy === 'start-first' || group.count > parallelism) return null;
  return group.count === 1
    ? 'its only allocation would be stopped before another one runs (update.strategy)'
    : 'all of it might be stopped at once (update.parallelism)';
}
