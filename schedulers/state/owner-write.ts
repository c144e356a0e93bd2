import type { AttemptReply, Compare, Write } from '../../src/ports/cell-store.ts';
import type { OwnedJob } from './owned-job.ts';
import type { SchedulerWorld } from './state.ts';

/** Writes that are applied only while this scheduler owns the job: the owner key is compared beside `compares`. */
export function writeAsOwner(
  { store, keys }: Pick<SchedulerWorld, 'store' | 'keys'>,
  job: OwnedJob,
  writes: readonly Write[],
  compares: readonly Compare[] = [],
): Promise<AttemptReply> {
  const owner = keys.owner(job.namespace, job.name);
  const isOwner = { key: owner, target: 'createRevision', equals: job.ownerRevision } as const;
  return store.attempt({ compares: [isOwner, ...compares], writes, readBack: [] });
}
