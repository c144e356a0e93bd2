import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { changeRecords } from '../../../../src/runtime/records/change-record.ts';
import { bucketCodec } from '../../../../src/wire/budgets/budget-records.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const KEYS = ['/a', '/b'];

let store: MemoryCellStore;
beforeEach(() => {
  store = new MemoryCellStore({ clock: new ManualClock() });
});
afterEach(() => store.close());

/** @returns its revision */
async function put(key: string, fullAtMs: number): Promise<number> {
  const value = bucketCodec.encode({ fullAtMs });
  const reply = await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  return reply.outcome === 'applied' ? reply.revision : 0;
}

async function values(): Promise<readonly (number | null)[]> {
  const { entries } = await store.read(KEYS);
  return KEYS.map((key) => {
    const entry = entries.get(key);
    return entry === undefined ? null : bucketCodec.decode(entry.value).fullAtMs;
  });
}

describe('I76 several records that are changed together', () => {
  it('are changed by what others made of them meanwhile, and one that is not written is compared too', async () => {
    await put('/a', 1);
    const seen: (number | null)[][] = [];
    const change = await changeRecords(
      {
        read: (keys) => store.read(keys),
        attempt: async (attempt) => {
          if (seen.length === 1) await put('/b', 5);
          return await store.attempt(attempt);
        },
      },
      KEYS,
      bucketCodec,
      (known) => {
        const [a = null, b = null] = known.map((one) => one?.fullAtMs ?? null);
        seen.push([a, b]);
        return [{ fullAtMs: (a ?? 0) + (b ?? 10) }, null];
      },
    );
    expect(change.kind).toBe('written');
    expect(seen).toEqual([
      [1, null],
      [1, 5],
    ]);
    expect(await values()).toEqual([6, 5]);
  });

  it('are left where none is to be changed, and where something else does not hold', async () => {
    const revision = await put('/a', 1);
    const kept = await changeRecords(store, KEYS, bucketCodec, () => [null, null]);
    expect(kept).toEqual({ kind: 'kept', revision });
    const also = [{ key: '/rule', target: 'modRevision' as const, equals: revision }];
    const both = () => [{ fullAtMs: 7 }, { fullAtMs: 7 }];
    expect((await changeRecords(store, KEYS, bucketCodec, both, also)).kind).toBe('contended');
    expect(await values()).toEqual([1, null]);
  });
});
