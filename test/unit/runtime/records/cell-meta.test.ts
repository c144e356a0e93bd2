import { describe, expect, it } from 'vitest';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import {
  openMeta,
  renewMeta,
  SchemaError,
  watchIncarnation,
} from '../../../../src/runtime/records/cell-meta.ts';
import { metaCodec } from '../../../../src/wire/records/records.ts';
import { FaultyStore } from '../../../support/faulty-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const keys = cellKeys('test');

describe('the meta record', () => {
  const maker = (name: string) => ({ nowMs: 5, makeUuid: () => name });

  it('is made by the first process, and read by all later ones', async () => {
    const store = new MemoryCellStore({ clock: new ManualClock() });
    const metas = await Promise.all(['a', 'b', 'c'].map((name) => openMeta(store, keys, maker(name))));
    expect(new Set(metas.map((meta) => meta.incarnation)).size).toBe(1);
    expect(metas[0]).toMatchObject({ schema: 1, createdAtMs: 5 });
  });

  it('is the same for its maker when the reply of the creation was lost', async () => {
    const faulty = new FaultyStore(new MemoryCellStore({ clock: new ManualClock() }), seededRandom(1));
    faulty.next = () => 'reply-lost';
    expect((await openMeta(faulty.store, keys, maker('a'))).incarnation).toBe('a');
  });

  it('I53 is renewed after a restore, and made where the store is empty', async () => {
    const store = new MemoryCellStore({ clock: new ManualClock() });
    expect(await renewMeta(store, keys, maker('a'))).toMatchObject({ incarnation: 'a', restoredAtMs: 5 });
    const again = await renewMeta(store, keys, { nowMs: 9, makeUuid: () => 'b' });
    expect(again).toEqual({ schema: 1, incarnation: 'b', createdAtMs: 5, restoredAtMs: 9 });
    expect(await openMeta(store, keys, maker('c'))).toEqual(again);
  });

  it('I53 tells who watches it of another incarnation, and not of the known one', async () => {
    const clock = new ManualClock();
    const store = new MemoryCellStore({ clock });
    await openMeta(store, keys, maker('a'));
    let seen = 0;
    const stop = watchIncarnation(store, keys, 'a', () => (seen += 1));
    await clock.advance(10);
    expect(seen).toBe(0);
    await renewMeta(store, keys, maker('b'));
    await clock.advance(10);
    expect(seen).toBe(1);
    stop();
  });

  it('of another schema is refused', async () => {
    const store = new MemoryCellStore({ clock: new ManualClock() });
    const value = metaCodec.encode({ schema: 2, incarnation: 'a', createdAtMs: 1 });
    await store.attempt({ compares: [], writes: [{ kind: 'put', key: keys.meta, value }], readBack: [] });
    await expect(openMeta(store, keys, maker('b'))).rejects.toThrow(SchemaError);
  });
});
