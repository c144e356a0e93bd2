import type { Snapshot } from '../../src/ports/cell-store.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { Codec } from '../../src/wire/wire.ts';
import { RecordError } from '../../src/wire/wire.ts';
import {
  allocationCodec,
  intentCodec,
  jobCodec,
  outcomeCodec,
  rolloutCodec,
} from '../../src/wire/records/records.ts';
import type { SchedulerWorld } from '../state/state.ts';
import type { StoredJob } from '../state/stored-job.ts';
import { Batches } from '../state/batches.ts';
import { NamespaceQueues } from '../state/namespace-queues.ts';

/** Lists read in one call: a transaction of a store's smallest size. */
const LISTS_MAX = 128;
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
 * Reads what the store holds of jobs, several jobs in one call; the cell's allocations are never listed. The lists of one job
 * may be of different revisions: an allocation that is released in between shows as allocation and as outcome, never as
 * neither, because the allocations are read first and only the owner, which reads here, writes outcomes. Intents are read
 * before them: a member that is seen after its intent was not is effective.
 */
export class JobLoader {
  readonly #world: SchedulerWorld;
  readonly #wanted = new NamespaceQueues<Wanted>();
  readonly #calls = new Batches(
    CALLS_MAX,
    () => this.#wanted.length > 0,
    () => this.#read(this.#nextTogether()),
  );

  constructor(world: SchedulerWorld) {
    this.#world = world;
  }

  get waiting(): number {
    return this.#wanted.length;
  }

  /** @throws StoreError; RecordError: an intent cannot be read, and so it is unknown which members are effective */
  load(job: JobToLoad): Promise<StoredJob> {
    return new Promise((resolve, reject) => {
      this.#wanted.push(job.namespace, { ...job, resolve, reject });
      this.#calls.schedule();
    });
  }

  #nextTogether(): readonly Wanted[] {
    const together: Wanted[] = [];
    let left = LISTS_MAX;
    for (;;) {
      const next = this.#wanted.next((first) => this.#rangesOf(first).size <= left);
      if (next === undefined) return together;
      left -= this.#rangesOf(next).size;
      together.push(next);
    }
  }

  async #read(together: readonly Wanted[]): Promise<void> {
    const { store, log } = this.#world;
    try {
      const ranges = together.map((wanted) => this.#rangesOf(wanted));
      const lists = (await store.listMany(ranges.flatMap((of) => [...of.values()])))[Symbol.iterator]();
      for (const [n, { resolve, reject }] of together.entries()) {
        const stored: Stored = {};
        for (const name of ranges[n]?.keys() ?? []) stored[name] = lists.next().value;
        try {
          resolve(storedJob(stored, log));
        } catch (error) {
          reject(error);
        }
      }
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }

  /** What there may be of the job, in the order in which it is read. */
  #rangesOf({ namespace, job, version, hasGangs }: JobToLoad): ReadonlyMap<keyof Stored, string> {
    const { keys } = this.#world;
    const ranges = new Map<keyof Stored, string>();
    if (hasGangs || version > 1) ranges.set('intents', keys.intentsOf(namespace, job));
    ranges.set('allocations', keys.allocationsOf(namespace, job));
    ranges.set('outcomes', keys.outcomesOf(namespace, job));
    if (version > 1) ranges.set('rollouts', keys.rolloutsOf(namespace, job));
    if (version > 1) ranges.set('versions', `${keys.versions}${namespace}/${job}/`);
    return ranges;
  }
}

/** The lists of one job, as they lie in the store. */
type Stored = Partial<
  Record<'intents' | 'allocations' | 'outcomes' | 'rollouts' | 'versions', Snapshot | undefined>
>;

function storedJob(lists: Stored, log: Log): StoredJob {
  const report = (error: RecordError, key: string): void => log.error({ key, error }, 'unreadable record');
  const refuse = (error: RecordError, key: string): never => {
    report(error, key);
    throw error;
  };
  let unreadable: RecordError | null = null;
  const leaveOut = (error: RecordError, key: string): void => {
    report(error, key);
    unreadable ??= error;
  };
  // An allocation without its spec is only not started any more.
  const records = decodeAll(lists.versions, jobCodec, report);
  return {
    intents: decodeAll(lists.intents, intentCodec, refuse).map(({ value }) => value),
    intentsRevision: lists.intents?.revision ?? 0,
    allocations: decodeAll(lists.allocations, allocationCodec, leaveOut).map(({ value, revision }) => ({
      allocation: value,
      revision,
    })),
    outcomes: decodeAll(lists.outcomes, outcomeCodec, leaveOut).map(({ value }) => value),
    // Without it the update is watched again until all is up.
    rollout: decodeAll(lists.rollouts, rolloutCodec, report)[0]?.value ?? null,
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
