import { StoreError } from '../../ports/cell-store.ts';
import type { RolePorts } from '../runtime.ts';
import type { BackoffOptions } from './backoff.ts';
import { Backoff } from './backoff.ts';
import { sleep } from './wait.ts';

/** Soon at first, then every few seconds while the store is away. */
export const STORE_AWAY: BackoffOptions = { firstMs: 50, maxMs: 5_000 };

export type RetryPorts = Pick<RolePorts, 'store' | 'clock' | 'random'>;

/**
 * Repeats `attempt` while it returns null, or fails with a StoreError that is retryable.
 * @returns null: the signal was aborted first
 * @throws StoreError that is not retryable, and whatever else `attempt` throws
 */
export async function retryStore<T>(
  { clock, random }: RetryPorts,
  attempt: () => Promise<T | null>,
  signal?: AbortSignal,
  delays = STORE_AWAY,
): Promise<T | null> {
  const backoff = new Backoff(delays, random);
  while (signal?.aborted !== true) {
    try {
      const answer = await attempt();
      if (answer !== null) return answer;
    } catch (error) {
      if (!(error instanceof StoreError) || !error.retryable) throw error;
    }
    await sleep(clock, backoff.nextMs(), signal);
  }
  return null;
}
