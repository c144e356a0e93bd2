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

/** Lists read in one call: a transaction of a store's smallest size. */
const LISTS_MAX = 128;
/** Calls under way at once. */
const CALLS_MAX = 4;

interface Wanted {
  readonly namespace: string;
  readonly job: string;
  /** The version of its record: the first one has no earlier specs. */
  readonly version: number;
  readonly resolve: (stored: StoredJob) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads jobs' own ranges, those of several jobs in one call; the cell's are never listed. The lists of one job may be of
 * different revisions: what is being released in between shows as an allocation and as an outcome, never as neither,
 * because the allocations come first and only the owner, who is reading here, writes outcomes.
 */
export class JobLoader {
  readonly #world: SchedulerWorld;
  readonly #wanted: Wanted[] = [];
  #calls = 0;
  #isDue = false;

  constructor(world: SchedulerWorld) {
    this.#world = world;
  }

  /** Jobs whose turn to be read has not come. */
  get waiting(): number {
    return this.#wanted.length;
  }

  /** @throws StoreError */
  load(namespace: string, job: string, version: number): Promise<StoredJob> {
    return new Promise((resolve, reject) => {
      this.#wanted.push({ namespace, job, version, resolve, reject });
      this.#soon();
    });
  }

  /** In the next microtask, so that jobs that were taken together are read together. */
  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    void Promise.resolve().then(() => {
      this.#isDue = false;
      while (this.#calls < CALLS_MAX && this.#wanted.length > 0) void this.#read(this.#nextTogether());
    });
  }

  /** As many as one call takes. */
  #nextTogether(): readonly Wanted[] {
    let lists = 0;
    let jobs = 0;
    for (; jobs < this.#wanted.length; jobs++) {
      lists += listsOf(this.#wanted[jobs]?.version ?? 1);
      if (lists > LISTS_MAX) break;
    }
    return this.#wanted.splice(0, jobs);
  }

  async #read(together: readonly Wanted[]): Promise<void> {
    const { store, keys, log } = this.#world;
    this.#calls += 1;
    try {
      const prefixes = together.flatMap(({ namespace, job, version }) => [
        keys.allocationsOf(namespace, job),
        keys.outcomesOf(namespace, job),
        ...(version > 1 ? [`${keys.versions}${namespace}/${job}/`] : []),
      ]);
      const lists = await store.listMany(prefixes);
      let next = 0;
      for (const { version, resolve } of together) {
        const allocations = lists[next++];
        const outcomes = lists[next++];
        const versions = version > 1 ? lists[next++] : undefined;
        resolve(storedJob({ allocations, outcomes, versions }, log));
      }
    } catch (error) {
      for (const { reject } of together) reject(error);
    } finally {
      this.#calls -= 1;
      if (this.#wanted.length > 0) this.#soon();
    }
  }
}

/** Allocations and outcomes; and the earlier specs, of which the first version has none. */
function listsOf(version: number): number {
  return version > 1 ? 3 : 2;
}

function storedJob(
  lists: Readonly<Record<'allocations' | 'outcomes' | 'versions', Snapshot | undefined>>,
  log: Log,
): StoredJob {
  const records = decodeAll(lists.versions, jobCodec, log);
  return {
    allocations: decodeAll(lists.allocations, allocationCodec, log).map(({ value, revision }) => ({
      allocation: value,
      revision,
    })),
    outcomes: decodeAll(lists.outcomes, outcomeCodec, log).map(({ value }) => value),
    versions: new Map(records.map(({ value }) => [value.version, value.job])),
  };
}

function decodeAll<T>(
  snapshot: Snapshot | undefined,
  codec: Codec<T>,
  log: Log,
): { value: T; revision: number }[] {
  const result: { value: T; revision: number }[] = [];
  for (const { key, value, modRevision } of snapshot?.entries.values() ?? []) {
    try {
      result.push({ value: codec.decode(value), revision: modRevision });
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      log.error({ key, error }, 'unreadable record');
    }
  }
  return result;
}
