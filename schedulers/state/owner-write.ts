import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { AttemptReply, Compare, Write } from '../../src/ports/cell-store.ts';
import { allocationCodec, outcomeCodec } from '../../src/wire/records/records.ts';
import type { OwnedJob } from './owned-job.ts';
import type { SchedulerWorld } from './state.ts';

type World = Pick<SchedulerWorld, 'store' | 'keys'>;

/** Writes that are applied only while this scheduler owns the job: the owner key is compared beside `compares`. */
export function writeAsOwner(
  { store, keys }: World,
  job: OwnedJob,
  writes: readonly Write[],
  compares: readonly Compare[] = [],
): Promise<AttemptReply> {
  const owner = keys.owner(job.namespace, job.name);
  const isOwner = { key: owner, target: 'createRevision', equals: job.ownerRevision } as const;
  return store.attempt({ compares: [isOwner, ...compares], writes, readBack: [] });
}

export interface OwnedRecord {
  readonly allocation: Allocation;
  /** At which it was last seen in the store. */
  readonly revision: number;
}

/**
 * Rewrites allocations' records, if none has changed since the revision that is known.
 * @param counted others of the job that must not have changed either
 * @param conditions compared beside these
 */
export function rewriteAsOwner(
  world: World,
  job: OwnedJob,
  records: readonly OwnedRecord[],
  counted: readonly OwnedRecord[] = [],
  conditions: readonly Compare[] = [],
): Promise<AttemptReply> {
  const keyOf = ({ id }: Allocation): string => world.keys.allocation(job.namespace, job.name, id);
  const writes = records.map(({ allocation }) => ({
    kind: 'put' as const,
    key: keyOf(allocation),
    value: allocationCodec.encode(allocation),
  }));
  const unchanged = [...records, ...counted].map(({ allocation, revision }) => ({
    key: keyOf(allocation),
    target: 'modRevision' as const,
    equals: revision,
  }));
  return writeAsOwner(world, job, writes, [...unchanged, ...conditions]);
}

/** Writes outcomes, none of which is there yet. */
export function createOutcomesAsOwner(
  world: World,
  job: OwnedJob,
  outcomes: readonly Outcome[],
): Promise<AttemptReply> {
  const puts = outcomes.map((outcome) => ({
    kind: 'put' as const,
    key: world.keys.outcome(job.namespace, job.name, outcome.allocation),
    value: outcomeCodec.encode(outcome),
  }));
  const areNew = puts.map(({ key }) => ({ key, target: 'createRevision' as const, equals: 0 }));
  return writeAsOwner(world, job, puts, areNew);
}
