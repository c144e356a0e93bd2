import { describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { cellStoreContract, Recorder } from '../../../contract/cell-store.ts';
import { restoredStoreContract } from '../../../contract/restored-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

cellStoreContract('memory', async () => {
  const clock = new ManualClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const other = new MemoryCellStore({ clock, cell });
  return {
    store,
    other,
    prefix: '/moorage/c1/',
    compact: async (revision) => cell.compact(revision + 1),
    close: async () => {
      await store.close();
      await other.close();
    },
  };
});

restoredStoreContract('memory', async () => {
  const clock = new ManualClock();
  const cell = new MemoryCell({ clock });
  const stores: MemoryCellStore[] = [];
  let saved = cell.save();
  return {
    prefix: '/moorage/c1/',
    open: (onWrongServer = () => undefined) => {
      const store = new MemoryCellStore({ clock, cell, onWrongServer });
      stores.push(store);
      return store;
    },
    save: async () => void (saved = cell.save()),
    goBack: async () => cell.load(saved),
    close: async () => {
      for (const store of stores) await store.close();
    },
  };
});

describe('memory cell store', () => {
  const attempt = (key: string, value: string) => ({
    compares: [],
    writes: [{ kind: 'put', key, value } as const],
    readBack: [],
  });

  it('gives a new snapshot after it was cut off', async () => {
    const clock = new ManualClock();
    const cell = new MemoryCell({ clock });
    const store = new MemoryCellStore({ clock, cell });
    const far = new MemoryCellStore({ clock, cell });
    const seen = new Recorder();
    await far.follow('/a/', seen).ready;
    far.cutOff();
    await store.attempt(attempt('/a/x', '1'));
    await expect(far.read(['/a/x'])).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    far.reconnect();
    await seen.snapshotCount(2);
    expect(seen.state()).toEqual({ x: '1' });
    expect(seen.revisions).toHaveLength(0);
  });

  it('ends a session that is not renewed, first for its holder and then in the store', async () => {
    const clock = new ManualClock();
    const store = new MemoryCellStore({ clock });
    const session = await store.openSession({ ttlMs: 1_000 });
    await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key: '/a/x', value: '1', session }],
      readBack: [],
    });
    await clock.advance(5_000);
    expect(session.lost.aborted).toBe(false);
    store.cutOff();
    await clock.advance(900);
    expect(session.lost.aborted).toBe(true);
    expect(store.cell.get('/a/x')).toBeDefined();
    await clock.advance(200);
    expect(store.cell.get('/a/x')).toBeUndefined();
  });
});
