import type { Group, UpdatePolicy } from '../cell/job.ts';

const MINUTE_MS = 60_000;

/**
 * One at a time, each in the place of the one before: needs no room beyond what the job has, and no port twice on a host.
 * The deadlines are those of Nomad.
 */
export const DEFAULT_UPDATE: Required<UpdatePolicy> = {
  parallelism: 1,
  strategy: 'stop-first',
  healthyDeadlineMs: 5 * MINUTE_MS,
  progressDeadlineMs: 10 * MINUTE_MS,
  canary: 0,
  autoPromote: false,
  autoRevert: false,
};

export function updatePolicyOf({ update }: Group): Required<UpdatePolicy> {
  return update === undefined ? DEFAULT_UPDATE : { ...DEFAULT_UPDATE, ...update };
}

/** How many slots beyond `count` an update of the group uses. */
export function surgeOf(group: Group, isPromoted: boolean): number {
  if (group.update === undefined || group.gang) return 0;
  const { strategy, parallelism, canary } = updatePolicyOf(group);
  const more = strategy === 'start-first' && (canary === 0 || isPromoted) ? parallelism : 0;
  return Math.max(canary, more);
}

/** The same of a move that somebody asked for: another one starts first where an update would do so. */
export function surgeOfMove(group: Group): number {
  const { strategy, parallelism } = updatePolicyOf(group);
  return strategy === 'start-first' && !group.gang ? parallelism : 0;
}
