import { freeSpace } from '../../monitor/store/store.ts';
import type { StoreUpkeep } from '../../src/ports/store-upkeep.ts';

const LOOK_MS = 30_000;

/**
 * Opens the store again when it is full, which the cell's monitors may not: it takes the rights of an operator.
 * @returns ends it
 */
export function keepStoreOpen(upkeep: StoreUpkeep, onEvent: (line: string) => void): () => Promise<void> {
  let looking: Promise<void> | null = null;
  const look = async (): Promise<void> => {
    try {
      const { isFull, revision } = await upkeep.measure();
      if (!isFull) return;
      await freeSpace(upkeep, revision);
      onEvent('the store was full; its past was dropped, and it takes writes again');
    } catch {
      // It is away, or has been restarted: it is looked at again.
    }
  };
  const timer = setInterval(() => {
    looking ??= look().finally(() => (looking = null));
  }, LOOK_MS).unref();
  return async () => {
    clearInterval(timer);
    await looking;
    await upkeep.close();
  };
}
