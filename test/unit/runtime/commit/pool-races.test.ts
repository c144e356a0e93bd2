import { describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { PoolBook } from '../../../../src/core/quota/pool-book.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { poolCodec, sharedResourceCodec } from '../../../../src/wire/records/records.ts';
import { committerWorld, own, planOf, testAllocation, testHost } from '../../../support/commit-world.ts';
import { InstantClock } from '../../../support/instant-clock.ts';
import { withAttempt } from '../../../support/mortal-store.ts';

const keys = cellKeys('test');
const POOL = keys.pool('power/cell');
const POWER = { name: 'power', unit: 'W', by: null, capacity: 1_000, capacities: {} };

/** Where another process is faster. */
type Moved = 'ledger' | 'pool' | null;

/**
 * Places one on each host.
 * @param movedBefore what has moved just before the n-th attempt, counted from 1
 * @param takes whether the one on the host takes of the pool
 */
async function place(
  hostCount: number,
  movedBefore: (n: number) => Moved,
  takes: (host: number) => boolean = () => true,
) {
  const clock = new InstantClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const put = (key: string, value: string) =>
    store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  await put(keys.sharedResource('power'), sharedResourceCodec.encode(POWER));
  const { revision } = await store.read([]);
  const pools = new PoolBook();
  pools.define('power', POWER, revision);
  const sizes: number[] = [];
  let takenByOthers = 0;
  const raced = withAttempt(store, async (attempt) => {
    sizes.push(attempt.writes.length);
    const moved = movedBefore(sizes.length);
    if (moved === 'pool') await put(POOL, poolCodec.encode({ used: (takenByOthers += 1) }));
    if (moved === 'ledger') await put(keys.ledger('h0'), '{"v":1}');
    return store.attempt(attempt);
  });
  const ids = Array.from({ length: hostCount }, (_, n) => `h${String(n)}`);
  const hosts = new Map(ids.map((id) => [id, testHost(id)]));
  const random = seededRandom(1);
  const world = committerWorld({ store: raced, keys, hosts, clock, random, pools, rebasesMax: 8 });
  await own(store, keys, world, 'job');
  const places = ids.map((host, index) =>
    testAllocation(`a${String(index)}`, host, {
      ...{ job: 'job', index },
      ...(takes(index) ? { shared: { 'power/cell': 2 } } : {}),
    }),
  );
  const ends = [...(await world.committer.commit(planOf('p', { places }))).values()];
  const record = (await store.read([POOL])).entries.get(POOL);
  const used = record === undefined ? 0 : poolCodec.decode(record.value).used;
  return { ends, sizes, used, refused: world.committer.stats.refused };
}

describe('races for a pool', () => {
  it('S3.15 that others win again and again are no conflict, and do not make transactions smaller', async () => {
    const hosts = 20;
    // More than a unit may be refused because of its host.
    const races = 20;
    const { ends, sizes, used } = await place(hosts, (n) => (n <= races ? 'pool' : null));
    expect(ends.map(({ kind }) => kind)).toEqual(Array.from({ length: hosts }, () => 'rebased'));
    expect(new Set(sizes)).toEqual(new Set([2 * hosts + 1]));
    expect(used).toBe(races + 2 * hosts);
  });

  it('S3.15 are not paid for by those who take of no pool, and share the transaction', async () => {
    const [hosts, races] = [20, 20];
    const takes = (host: number): boolean => host % 2 === 1;
    const { ends, used } = await place(hosts, (n) => (n <= races ? 'pool' : null), takes);
    expect(ends.map(({ kind }) => kind)).toEqual(ends.map((_, n) => (takes(n) ? 'rebased' : 'committed')));
    expect(used).toBe(races + hosts);
  });

  const contended = [{ kind: 'conflicted', why: { reason: 'contended' } }];

  it('I11 are a conflict at the 65th', async () => {
    const won = await place(1, (n) => (n <= 64 ? 'pool' : null));
    expect(won).toMatchObject({ ends: [{ kind: 'rebased' }], refused: 64 });
    expect(await place(1, () => 'pool')).toMatchObject({ ends: contended, refused: 65 });
  });

  it('I11 count also with other refusals between them, and those are a conflict at the ninth', async () => {
    const mixed = (n: number): Moved => (n % 9 === 0 ? 'ledger' : 'pool');
    const won = await place(1, (n) => (n <= 72 ? mixed(n) : null));
    expect(won).toMatchObject({ ends: [{ kind: 'rebased' }], refused: 72 });
    expect(await place(1, mixed)).toMatchObject({ ends: contended, refused: 73 });
    const late = await place(1, (n) => (n <= 64 ? 'pool' : 'ledger'));
    expect(late).toMatchObject({ ends: contended, refused: 73 });
    const inTurns = await place(1, (n) => (n % 2 === 0 ? 'pool' : 'ledger'));
    expect(inTurns).toMatchObject({ ends: contended, refused: 17 });
  });
});
