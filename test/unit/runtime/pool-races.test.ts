import { expect, it } from 'vitest';
import { MemoryCell } from '../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../src/adapters/memory/cell-store.ts';
import { cellKeys } from '../../../src/core/keys.ts';
import { PoolBook } from '../../../src/core/pool-book.ts';
import { seededRandom } from '../../../src/core/seeded-random.ts';
import { poolCodec, sharedResourceCodec } from '../../../src/wire/records.ts';
import { committerWorld, own, planOf, testAllocation, testHost } from '../../support/commit-world.ts';
import { InstantClock } from '../../support/instant-clock.ts';
import { withAttempt } from '../../support/mortal-store.ts';

const keys = cellKeys('test');
const HOSTS = 20;
/** More than a unit may be refused because of its host. */
const RACES = 20;

it('S3.15 a pool that others are faster at, again and again, is no conflict, and does not make transactions smaller', async () => {
  const clock = new InstantClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const power = { name: 'power', unit: 'W', by: null, capacity: 1_000, capacities: {} };
  const put = (key: string, value: string) =>
    store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  await put(keys.sharedResource('power'), sharedResourceCodec.encode(power));
  const { revision } = await store.read([]);
  const pools = new PoolBook();
  pools.define('power', power, revision);
  const sizes: number[] = [];
  const raced = withAttempt(store, async (attempt) => {
    sizes.push(attempt.writes.length);
    // Somebody takes one more just before.
    if (sizes.length <= RACES) await put(keys.pool('power/cell'), poolCodec.encode({ used: sizes.length }));
    return store.attempt(attempt);
  });
  const hosts = new Map(
    Array.from({ length: HOSTS }, (_, n) => [`h${String(n)}`, testHost(`h${String(n)}`)]),
  );
  const random = seededRandom(1);
  const world = committerWorld({ store: raced, keys, hosts, clock, random, pools });
  await own(store, keys, world, 'job');
  const places = [...hosts.keys()].map((host, index) =>
    testAllocation(`a${String(index)}`, host, { job: 'job', index, shared: { 'power/cell': 2 } }),
  );
  const outcome = await world.committer.commit(planOf('p', { places }));
  expect([...outcome.values()].map(({ kind }) => kind)).toEqual(places.map(() => 'rebased'));
  expect(new Set(sizes)).toEqual(new Set([2 * HOSTS + 1]));
  const record = (await store.read([keys.pool('power/cell')])).entries.get(keys.pool('power/cell'));
  expect(poolCodec.decode(record?.value ?? '').used).toBe(RACES + 2 * HOSTS);
});
