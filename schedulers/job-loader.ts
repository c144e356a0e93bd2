import type { Allocation, Outcome } from '../src/core/allocation.ts';
import type { Job } from '../src/core/job.ts';
import type { Snapshot } from '../src/ports/cell-store.ts';
import type { Log } from '../src/ports/telemetry.ts';
import type { Codec } from '../src/wire/codec.ts';
import { RecordError } from '../src/wire/codec.ts';
import { allocationCodec, jobCodec, outcomeCodec } from '../src/wire/records.ts';
import type { SchedulerWorld } from './context.ts';

/** All that the store holds of one job. */
export interface StoredJob {
  readonly allocations: readonly { readonly allocation: Allocation; readonly revision: number }[];
  readonly outcomes: readonly Outcome[];
  readonly versions: ReadonlyMap<number, Job>;
}

/**
 * Reads one job's own ranges; the cell's are never listed. The reads are of different revisions: what is being released
 * in between shows as an allocation and as an outcome, or as neither, never lost, because the allocations come first and
 * only the owner, who is reading here, writes outcomes.
 *
 * @throws StoreError
 */
export async function loadJob(world: SchedulerWorld, namespace: string, job: string): Promise<StoredJob> {
  const { store, keys, log } = world;
  const [allocations, outcomes, versions] = await Promise.all([
    store.list(keys.allocationsOf(namespace, job)),
    store.list(keys.outcomesOf(namespace, job)),
    store.list(`${keys.versions}${namespace}/${job}/`),
  ]);
  const records = decodeAll(versions, jobCodec, log);
  return {
    allocations: decodeAll(allocations, allocationCodec, log).map(({ value, revision }) => ({
      allocation: value,
      revision,
    })),
    outcomes: decodeAll(outcomes, outcomeCodec, log).map(({ value }) => value),
    versions: new Map(records.map(({ value }) => [value.version, value.job])),
  };
}

function decodeAll<T>(snapshot: Snapshot, codec: Codec<T>, log: Log): { value: T; revision: number }[] {
  const result: { value: T; revision: number }[] = [];
  for (const { key, value, modRevision } of snapshot.entries.values()) {
    try {
      result.push({ value: codec.decode(value), revision: modRevision });
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      log.error({ key, error }, 'unreadable record');
    }
  }
  return result;
}
