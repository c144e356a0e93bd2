import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Intent } from '../../src/core/cell/intent.ts';
import type { Job } from '../../src/core/cell/job.ts';
import type { Snapshot } from '../../src/ports/cell-store.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { Codec } from '../../src/wire/codec/codec.ts';
import { RecordError } from '../../src/wire/codec/codec.ts';
import { allocationCodec, intentCodec, jobCodec, outcomeCodec } from '../../src/wire/records/records.ts';
import type { SchedulerWorld } from '../state/state.ts';
import { TenantLines } from '../state/namespace-queues.ts';

/** All that the store holds of one job. */
export interface StoredJob {
  /** As they were before `allocations` was read: a member without its intent is effective. */
  readonly intents: readonly Intent[];
  /** The revision at which the intents were read; 0: there were none to read. */
  readonly intentsRevision: number;
  readonly allocations: readonly { readonly allocation: Allocation; readonly revision: number }[];
  readonly outcomes: readonly Outcome[];
  readonly versions: ReadonlyMap<number, Job>;
  /** Why an allocation or an outcome is missing here that cannot be read; null: none is. */
  readonly unreadable: RecordError | null;
}

export const NOTHING_STORED: StoredJob = Object.freeze({
  intents: [],
  intentsRevision: 0,
  allocations: [],
  outcomes: [],
  versions: new Map(),
  unreadable: null,
});

/** Lists read in one call: a transaction of a store's smallest size. */
const LISTS_MAX = 128;
/** Calls under way at once. */
const CALLS_MAX = 4;

/** Which job to read, and what there may be of it. */
export interface JobToLoad {
  readonly namespace: string;
  readonly job: string;
  /** The version of its record: the first one has no earlier specs. */
  readonly version: number;
  /** Does this version have a gang? Earlier ones may have had one in any case. */
  readonly hasGangs: boolean;
}

interface Wanted extends JobToLoad {
  readonly resolve: (stored: StoredJob) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads jobs' own ranges, those of several jobs in one call; the cell's are never listed. The lists of one job may be of
 * different revisions: what is being released in between shows as an allocation and as an outcome, never as neither,
 * because the allocations come first and only the owner, who is reading here, writes outcomes. Intents come before them:
 * a member that is seen after its intent was not has become effective.
 */
export class JobLoader {
  readonly #world: SchedulerWorld;
  readonly #wanted = new TenantLines<Wanted>();
  #calls = 0;
  #isDue = false;

  constructor(world: SchedulerWorld) {
    this.#world = world;
  }

  /** Jobs whose turn to be read has not come. */
  get waiting(): number {
    return this.#wanted.length;
  }

  /** @throws StoreError; RecordError: an intent cannot be read, and nobody can say which members have come about (decision 200) */
  load(job: JobToLoad): Promise<StoredJob> {
    return new Promise((resolve, reject) => {
      this.#wanted.push(job.namespace, { ...job, resolve, reject });
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
    const together: Wanted[] = [];
    let room = LISTS_MAX;
    for (;;) {
      const next = this.#wanted.next((first) => listsOf(first) <= room);
      if (next === undefined) return together;
      room -= listsOf(next);
      together.push(next);
    }
  }

  async #read(together: readonly Wanted[]): Promise<void> {
    const { store, keys, log } = this.#world;
    this.#calls += 1;
    try {
      const prefixes = together.flatMap(({ namespace, job, version, hasGangs }) => [
        ...(mayHaveIntents({ version, hasGangs }) ? [keys.intentsOf(namespace, job)] : []),
        keys.allocationsOf(namespace, job),
        keys.outcomesOf(namespace, job),
        ...(version > 1 ? [`${keys.versions}${namespace}/${job}/`] : []),
      ]);
      const lists = await store.listMany(prefixes);
      let next = 0;
      for (const { version, hasGangs, resolve, reject } of together) {
        const intents = mayHaveIntents({ version, hasGangs }) ? lists[next++] : undefined;
        const allocations = lists[next++];
        const outcomes = lists[next++];
        const versions = version > 1 ? lists[next++] : undefined;
        try {
          resolve(storedJob({ intents, allocations, outcomes, versions }, log));
        } catch (error) {
          reject(error);
        }
      }
    } catch (error) {
      for (const { reject } of together) reject(error);
    } finally {
      this.#calls -= 1;
      if (this.#wanted.length > 0) this.#soon();
    }
  }
}

/** Allocations and outcomes; the earlier specs, of which the first version has none; and intents, if there were gangs. */
function listsOf(job: JobToLoad): number {
  return 2 + (job.version > 1 ? 1 : 0) + (mayHaveIntents(job) ? 1 : 0);
}

function mayHaveIntents({ version, hasGangs }: Pick<JobToLoad, 'version' | 'hasGangs'>): boolean {
  return hasGangs || version > 1;
}

function storedJob(
  lists: Readonly<Record<'intents' | 'allocations' | 'outcomes' | 'versions', Snapshot | undefined>>,
  log: Log,
): StoredJob {
  const tell = (error: RecordError, key: string): void => log.error({ key, error }, 'unreadable record');
  const refuse = (error: RecordError, key: string): never => {
    tell(error, key);
    throw error;
  };
  let unreadable: RecordError | null = null;
  const leaveOut = (error: RecordError, key: string): void => {
    tell(error, key);
    unreadable ??= error;
  };
  // Without its spec an allocation is only not started any more.
  const records = decodeAll(lists.versions, jobCodec, tell);
  return {
    intents: decodeAll(lists.intents, intentCodec, refuse).map(({ value }) => value),
    intentsRevision: lists.intents?.revision ?? 0,
    allocations: decodeAll(lists.allocations, allocationCodec, leaveOut).map(({ value, revision }) => ({
      allocation: value,
      revision,
    })),
    outcomes: decodeAll(lists.outcomes, outcomeCodec, leaveOut).map(({ value }) => value),
    versions: new Map(records.map(({ value }) => [value.version, value.job])),
    unreadable,
  };
}

function decodeAll<T>(
  snapshot: Snapshot | undefined,
  codec: Codec<T>,
  onBadRecord: (error: RecordError, key: string) => void,
): { value: T; revision: number }[] {
  const result: { value: T; revision: number }[] = [];
  for (const { key, value, modRevision } of snapshot?.entries.values() ?? []) {
    try {
      result.push({ value: codec.decode(value), revision: modRevision });
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      onBadRecord(error, key);
    }
  }
  return result;
}
