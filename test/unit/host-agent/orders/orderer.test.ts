import { describe, expect, it } from 'vitest';
import type { StoredWord } from '../../../../host-agent/orders/orderer.ts';
import { askStore, checkEnds, checkStarts } from '../../../../host-agent/orders/orderer.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { systemClock } from '../../../../src/adapters/system/system.ts';
import type { Identity, IdentityRole } from '../../../../src/core/access/identity.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { allocationCodec } from '../../../../src/wire/records/allocation-codec.ts';
import { ownerCodec } from '../../../../src/wire/records/records.ts';
import { someStart } from '../../../support/host-orders.ts';

const { allocation } = someStart();
const peer = (role: IdentityRole, id: string): Identity => ({ cell: 'c', role, id });
const FIRST = peer('scheduler', allocation.scheduler);
const OTHER = peer('scheduler', 'another');
const MONITOR = peer('monitor', 'monitor-1');

/** @returns the status of the refusal; null: the caller may */
async function asked(
  who: Identity | null,
  word: StoredWord | 'away' | 'not asked',
  afterMs = HOUR_MS,
): Promise<number | null> {
  const ask = (): Promise<StoredWord> => {
    if (word === 'not asked') throw new Error('the store was asked');
    if (word === 'away') return Promise.reject(new StoreError('unavailable', 'away', { retryable: true }));
    return Promise.resolve(word);
  };
  try {
    await checkEnds(who, { allocation, acceptedAtMs: 5 }, 5 + afterMs, { ask });
    return null;
  } catch (error) {
    if (error instanceof ProblemError) return error.problem.status;
    throw error;
  }
}

const HOUR_MS = 3_600_000;
const RUNS = { owner: FIRST.id, isToRun: true };

describe('who may end an allocation', () => {
  it('an operator and a trusted caller, and who ordered it for a minute, without a word of the store', async () => {
    for (const who of [peer('operator', 'ann'), null]) expect(await asked(who, 'not asked')).toBeNull();
    expect(await asked(FIRST, 'not asked', 60_000)).toBeNull();
  });

  it('I39 who ordered it, later no longer than it owns its job', async () => {
    expect(await asked(FIRST, RUNS, 60_001)).toBeNull();
    expect(await asked(FIRST, { ...RUNS, owner: OTHER.id })).toBe(403);
    expect(await asked(FIRST, { ...RUNS, owner: null })).toBe(403);
    expect(await asked(FIRST, { owner: OTHER.id, isToRun: false })).toBeNull();
    expect(await asked(FIRST, 'away')).toBe(503);
  });

  it('another scheduler no longer than it owns its job', async () => {
    expect(await asked(OTHER, RUNS)).toBe(403);
    expect(await asked(OTHER, { ...RUNS, owner: null })).toBe(403);
    expect(await asked(OTHER, { ...RUNS, owner: OTHER.id })).toBeNull();
  });

  it('whoever carries out what the store says: the victim of a preemption, a deleted record', async () => {
    for (const who of [OTHER, MONITOR])
      expect(await asked(who, { owner: FIRST.id, isToRun: false })).toBeNull();
  });

  it('a monitor, what has no owner', async () => {
    expect(await asked(MONITOR, RUNS)).toBe(403);
    expect(await asked(MONITOR, { owner: null, isToRun: true })).toBeNull();
  });

  it('nobody on a guess while the store is away: the caller is to ask again', async () => {
    expect(await asked(OTHER, 'away')).toBe(503);
  });

  it('reads owner and record in the store', async () => {
    const store = new MemoryCellStore({ clock: systemClock, cell: new MemoryCell({ clock: systemClock }) });
    const keys = cellKeys('c');
    const ask = askStore(store, keys);
    const { namespace, job, id } = allocation;
    const put = async (key: string, value: string): Promise<void> => {
      await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
    };
    expect(await ask(allocation)).toEqual({ owner: null, isToRun: false });
    await put(keys.owner(namespace, job), ownerCodec.encode({ scheduler: 's2', kind: 'batch', sinceMs: 1 }));
    await put(keys.allocation(namespace, job, id), allocationCodec.encode({ ...allocation, desired: 'run' }));
    expect(await ask(allocation)).toEqual({ owner: 's2', isToRun: true });
    await put(
      keys.allocation(namespace, job, id),
      allocationCodec.encode({ ...allocation, desired: 'evict' }),
    );
    expect(await ask(allocation)).toEqual({ owner: 's2', isToRun: false });
    await store.close();
  });

  it('asks the store once for all that have come while it was asked, and tells each of its fault', async () => {
    const reads: (readonly string[])[] = [];
    const answers: ((is: 'there' | 'away') => void)[] = [];
    const store = {
      read: (keys: readonly string[]) => {
        reads.push(keys);
        return new Promise((resolve, reject) =>
          answers.push((is) => {
            if (is === 'there') resolve({ revision: 1, entries: new Map() });
            else reject(new StoreError('unavailable', 'away', { retryable: true }));
          }),
        );
      },
    } as unknown as CellStore;
    const ask = askStore(store, cellKeys('c'));
    const all = Array.from({ length: 40 }, (_, n) => ask({ ...allocation, id: `a${String(n)}` }));
    expect(reads).toHaveLength(1);
    const settled = Promise.allSettled(all);
    for (const is of ['there', 'away', 'there'] as const) {
      await new Promise((resolve) => setImmediate(resolve));
      answers.shift()?.(is);
    }
    const outcomes = (await settled).map(({ status }) => status);
    expect(outcomes).toEqual([
      'fulfilled',
      ...Array.from({ length: 32 }, () => 'rejected'),
      ...Array.from({ length: 7 }, () => 'fulfilled'),
    ]);
    // The owner of the job once, and each record.
    expect(reads.map(({ length }) => length)).toEqual([2, 33, 8]);
  });
});

it('I39 a start is in the name that the certificate bears', () => {
  expect(() => checkStarts(FIRST, allocation)).not.toThrow();
  expect(() => checkStarts(null, allocation)).not.toThrow();
  expect(() => checkStarts(OTHER, allocation)).toThrow('in the name of another scheduler');
});
