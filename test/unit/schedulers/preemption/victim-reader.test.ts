import { describe, expect, it } from 'vitest';
import { VictimReader } from '../../../../schedulers/preemption/victim-reader.ts';
import type { Term } from '../../../../schedulers/state/state.ts';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { allocationCodec } from '../../../../src/wire/records/records.ts';
import { makeAllocation } from '../../../../bench/testbed/fill.ts';

const keys = cellKeys('test');
const OPERATIONS_MAX = 8;

const victim = (n: number): Allocation =>
  makeAllocation({
    ...{ id: `a${String(n)}`, host: `h${String(n)}`, precedence: 10, job: 'low', group: 'low', index: n },
    resources: { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: {} },
  });

/** A reader whose store answers each read when it is let. */
function world() {
  const reads: (readonly string[])[] = [];
  const gates: { readonly open: () => void; readonly fail: () => void }[] = [];
  const store = {
    limits: { operationsMax: OPERATIONS_MAX },
    read: (names: readonly string[]) => {
      reads.push(names);
      return new Promise((resolve, reject) => {
        const open = (): void => {
          const found = names.filter((name) => !name.endsWith('/a3'));
          const entries = found.map((key) => {
            const value = allocationCodec.encode(victim(Number(key.slice(key.lastIndexOf('/a') + 2))));
            return [key, { key, value, modRevision: 5, createRevision: 5 }] as const;
          });
          resolve({ entries: new Map(entries), revision: 9 });
        };
        gates.push({ open, fail: () => reject(new StoreError('timeout', 'late', { retryable: true })) });
      });
    },
  };
  const term = {
    world: { store, keys, log: { error: () => undefined } },
    pauses: { onHost: () => null },
    cell: { state: { hostOf: () => undefined } },
  };
  return { reader: new VictimReader(term as unknown as Term), reads, gates };
}

describe('reading victims', () => {
  it('reads those of many hosts together, as many as go, and gives each search its own', async () => {
    const { reader, reads, gates } = world();
    const found = Array.from({ length: 5 }, (_, n) => reader.read([victim(2 * n), victim(2 * n + 1)], 'x'));
    await Promise.resolve();
    expect(reads.map((names) => names.length)).toEqual([8, 2]);
    for (const { open } of gates) open();
    const ids = (await Promise.all(found)).map((evictions) => [...evictions.keys()]);
    expect(ids).toEqual([['a0', 'a1'], ['a2'], ['a4', 'a5'], ['a6', 'a7'], ['a8', 'a9']]);
  });

  it('a search with more than one read holds is read by itself, and a failed read fails those in it', async () => {
    const { reader, reads, gates } = world();
    const large = reader.read(
      Array.from({ length: 12 }, (_, n) => victim(n)),
      'x',
    );
    const small = reader.read([victim(20)], 'x');
    await Promise.resolve();
    expect(reads.map((names) => names.length)).toEqual([12, 1]);
    gates[0]?.fail();
    gates[1]?.open();
    await expect(large).rejects.toThrow(StoreError);
    expect((await small).size).toBe(1);
  });
});
