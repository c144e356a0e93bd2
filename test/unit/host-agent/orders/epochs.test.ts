import { describe, expect, it } from 'vitest';
import { askEpoch, checkEpoch } from '../../../../host-agent/orders/epochs.ts';
import type { AgentContext } from '../../../../host-agent/agent-context.ts';
import type { AskEpoch } from '../../../../host-agent/ports.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { systemClock } from '../../../../src/adapters/system/system.ts';
import type { Epoch } from '../../../../src/core/cell/epoch.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { eligibilityCodec, metaCodec } from '../../../../src/wire/records/records.ts';

const NOW = 'now';

async function statusOf(checked: Promise<void>): Promise<number | null> {
  try {
    await checked;
    return null;
  } catch (error) {
    if (error instanceof ProblemError) return error.problem.status;
    throw error;
  }
}

describe('I17 the epoch of an order', () => {
  const checked = (ask: AskEpoch | undefined, epoch: Epoch, isAhead = true): Promise<number | null> =>
    statusOf(
      checkEpoch(
        {
          host: () => ({ id: 'h1' }),
          journal: { isAhead: () => isAhead },
          ports: ask === undefined ? {} : { epochs: ask },
        } as unknown as AgentContext,
        epoch,
      ),
    );

  it('is one that the store has come to', async () => {
    const keys = cellKeys('c');
    let reads = 0;
    const memory = new MemoryCellStore({ clock: systemClock, cell: new MemoryCell({ clock: systemClock }) });
    const store = {
      read: (of: readonly string[]) => {
        reads += 1;
        return memory.read(of);
      },
    } as CellStore;
    const put = async (key: string, value: string): Promise<void> => {
      await memory.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
    };
    const ask = askEpoch(store, keys);
    const status = (incarnation: string, counter: number): Promise<number | null> =>
      checked(ask, { incarnation, counter });

    expect(await status(NOW, 0)).toBe(409);
    await put(keys.meta, metaCodec.encode({ schema: 1, incarnation: NOW, createdAtMs: 1 }));
    expect([await status(NOW, 0), await status('before', 0), await status(NOW, 1)]).toEqual([null, 409, 409]);
    await put(
      keys.eligibilityOf('h1'),
      eligibilityCodec.encode({ state: 'ready', reason: '', by: 'ann', sinceMs: 1, counter: 2 }),
    );
    expect([await status(NOW, 2), await status(NOW, 3)]).toEqual([null, 409]);
    const before = reads;
    expect(await status(NOW, 0)).toBeNull();
    expect(reads).toBe(before);
    await memory.close();
  });

  it('is asked for only where it is ahead, and not where callers are trusted', async () => {
    const ask = (): Promise<boolean> => Promise.reject(new Error('the store was asked'));
    const epoch = { incarnation: NOW, counter: 9 };
    expect(await checked(ask, epoch, false)).toBeNull();
    expect(await checked(undefined, epoch)).toBeNull();
  });

  it('waits for a store that is away', async () => {
    const away = (): Promise<boolean> =>
      Promise.reject(new StoreError('unavailable', 'away', { retryable: true }));
    expect(await checked(away, { incarnation: NOW, counter: 0 })).toBe(503);
  });
});
