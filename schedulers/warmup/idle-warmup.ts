import type { CellStore } from '../../src/ports/cell-store.ts';
import { onAbort } from '../../src/ports/on-abort.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { WarmUpParts } from './warmup.ts';
import { warmUp } from './warmup.ts';

export interface IdleWarmUpParts extends Omit<WarmUpParts, 'makeStore'> {
  /** An empty store that answers only when `mayGoOn` has resolved. */
  readonly makeStore: (mayGoOn: () => Promise<void>) => CellStore;
  /** The real scheduler is not ready, or has work. */
  readonly isBusy: () => boolean;
  /** What it has placed: real work compiles the code, too. */
  readonly committed: () => number;
}

/** After so long without work, the next job may be long in coming. */
const IDLE_MS = 1_000;
const POLL_MS = 100;
/** How often a paused warm-up checks whether the real work is done. */
export const PAUSE_POLL_MS = 20;
/** So many real placements compile what they need. */
const COMMITTED_MAX = 5_000;
/** Real work during the warm-up, in sum, that ends it. */
const PAUSED_MAX_MS = 5_000;

/**
 * Warms up once, after a second without work, and pauses at each answer and message of its store while the scheduler has
 * work. Real work of 5 s in sum, or 5,000 placements, end it.
 *
 * @param signal ends it, and what it waits for
 * @returns how many were placed; fewer than planned where real work or the signal ended it
 */
export async function warmUpWhenIdle(parts: IdleWarmUpParts, signal: AbortSignal): Promise<number> {
  const { clock } = parts.world;
  await untilIdle(parts, signal);
  if (signal.aborted || parts.committed() >= COMMITTED_MAX) return 0;
  const over = new AbortController();
  const forget = onAbort(signal, () => over.abort());
  let pausedMs = 0;
  /** Up to when `pausedMs` counts: several answers are held at the same time. */
  let countedToMs = Number.NEGATIVE_INFINITY;
  const mayGoOn = async (): Promise<void> => {
    while (parts.isBusy() && !over.signal.aborted) {
      const sinceMs = clock.monotonicMs();
      await sleep(clock, PAUSE_POLL_MS, over.signal);
      const nowMs = clock.monotonicMs();
      pausedMs += nowMs - Math.max(sinceMs, countedToMs);
      countedToMs = nowMs;
      if (pausedMs >= PAUSED_MAX_MS) over.abort();
    }
  };
  try {
    return await warmUp({ ...parts, makeStore: () => parts.makeStore(mayGoOn) }, over.signal);
  } finally {
    forget();
  }
}

/** Resolves after `IDLE_MS` without work, when real work has compiled enough, or when the signal is aborted. */
async function untilIdle({ world, isBusy, committed }: IdleWarmUpParts, signal: AbortSignal): Promise<void> {
  const { clock } = world;
  let sinceMs = clock.monotonicMs();
  while (!signal.aborted && committed() < COMMITTED_MAX) {
    if (isBusy()) sinceMs = clock.monotonicMs();
    else if (clock.monotonicMs() - sinceMs >= IDLE_MS) return;
    await sleep(clock, POLL_MS, signal);
  }
}
