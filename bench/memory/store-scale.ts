import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { EtcdUpkeep } from '../../src/adapters/etcd/upkeep.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Entry } from '../../src/ports/cell-store.ts';

/** Commits of one scheduler that are under way at once. */
const IN_FLIGHT = 8;
/** Hosts that one commit touches. */
const TOGETHER = 64;

export interface WatchLag {
  /** From the commit's reply to the event at the follower, ms; below 0: the event came before the reply. */
  readonly lagMs: readonly number[];
  readonly commitsPerSecond: number;
}

/**
 * Rewrites ledgers of the whole cell by transactions like a scheduler's, and follows them by a connection of its own.
 * A commit has arrived with the event of its revision.
 */
export async function measureLag(
  endpoints: readonly string[],
  keys: CellKeys,
  commits: number,
): Promise<WatchLag> {
  const options = { endpoints, clock: systemClock, log: silentLog };
  const [writer, reader] = [new EtcdCellStore(options), new EtcdCellStore(options)];
  const ledgers: Entry[] = [];
  /** By revision: what came first of the commit's reply and its event. */
  const repliedMs = new Map<number, number>();
  const seenMs = new Map<number, number>();
  const lagMs: number[] = [];
  const meet = (revision: number): void => {
    const [replied, seen] = [repliedMs.get(revision), seenMs.get(revision)];
    if (replied === undefined || seen === undefined) return;
    lagMs.push(seen - replied);
    if (lagMs.length === commits) done();
  };
  let done: () => void = () => undefined;
  const allSeen = new Promise<void>((resolve) => (done = resolve));
  const following = reader.follow(keys.ledgers, {
    onSnapshot: ({ entries }) => ledgers.push(...entries.values()),
    onChanges: (_changes, revision) => {
      seenMs.set(revision, performance.now());
      meet(revision);
    },
  });
  try {
    await following.ready;
    let next = 0;
    const startMs = performance.now();
    const lane = async (): Promise<void> => {
      while (next < commits) {
        const revision = await rewrite(writer, ledgers, next++);
        repliedMs.set(revision, performance.now());
        meet(revision);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
    const commitsPerSecond = (commits / (performance.now() - startMs)) * 1_000;
    await allSeen;
    return { lagMs, commitsPerSecond };
  } finally {
    following.close();
    await Promise.all([writer.close(), reader.close()]);
  }
}

/** @returns the commit's revision */
async function rewrite(store: EtcdCellStore, ledgers: readonly Entry[], n: number): Promise<number> {
  const writes = Array.from({ length: Math.min(TOGETHER, ledgers.length) }, (_, index) => {
    const { key, value } = ledgers[(n * TOGETHER + index) % ledgers.length] as Entry;
    return { kind: 'put' as const, key, value };
  });
  const reply = await store.attempt({ compares: [], writes, readBack: [] });
  if (reply.outcome !== 'applied') throw new Error(`a commit was ${reply.outcome}`);
  return reply.revision;
}

/** Bytes of etcd's database. */
export interface DatabaseSizes {
  readonly before: number;
  readonly compacted: number;
  readonly compactedInUse: number;
  readonly defragmented: number;
  readonly compactMs: number;
  readonly defragmentMs: number;
}

/** Forgets all history, and gives its space back. */
export async function measureDatabase(endpoints: readonly string[]): Promise<DatabaseSizes> {
  const upkeep = new EtcdUpkeep({ endpoints });
  try {
    const before = await upkeep.measure();
    const compactMs = await timeOf(() => upkeep.compact(before.revision));
    const compacted = await upkeep.measure();
    const defragmentMs = await timeOf(() => upkeep.defragment());
    const defragmented = await upkeep.measure();
    return {
      before: before.databaseBytes,
      compacted: compacted.databaseBytes,
      compactedInUse: compacted.inUseBytes,
      defragmented: defragmented.databaseBytes,
      ...{ compactMs, defragmentMs },
    };
  } finally {
    await upkeep.close();
  }
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
