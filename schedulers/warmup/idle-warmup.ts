import type { CellStore } from '../../src/ports/cell-store.ts';
import { onAbort } from '../../src/ports/on-abort.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { RehearsalParts } from './warmup.ts';
import { rehearse } from './warmup.ts';

export interface IdleRehearsalParts extends Omit<RehearsalParts, 'makeStore'> {
  /** An empty store that answers only when `mayGoOn` has resolved. */
  readonly makeStore: (mayGoOn: () => Promise<void>) => CellStore;
  /** The real scheduler is not ready, or has jobs that wait. */
  readonly isBusy: () => boolean;
  /** What it has placed: of itself it is compiled, too. */
  readonly committed: () => number;
}

/** Nothing to do for so long: what comes next may be long in coming. */
const IDLE_MS = 1_000;
const LOOK_MS = 100;
/** Between two looks whether real work that it gives way to is done. */
export const STANDING_LOOK_MS = 20;
/** So much real work compiles what it needs. */
const COMMITTED_MAX = 5_000;
const STANDING_MAX_MS = 5_000;

/**
 * Rehearses when the scheduler has had nothing to do for a second, and stands still while it has (decision 165).
 *
 * @param signal ends it, and what it waits for
 * @returns how many were placed; fewer than planned where real work made it needless, or the signal ended it
 */
export async function rehearseWhenIdle(parts: IdleRehearsalParts, signal: AbortSignal): Promise<number> {
  const { clock } = parts.world;
  await untilIdle(parts, signal);
  if (signal.aborted || parts.committed() >= COMMITTED_MAX) return 0;
  const over = new AbortController();
  const forget = onAbort(signal, () => over.abort());
  let standingMs = 0;
  /** Up to where the time is in `standingMs`: all that waits to go on waits at once. */
  let countedToMs = Number.NEGATIVE_INFINITY;
  const mayGoOn = async (): Promise<void> => {
    while (parts.isBusy() && !over.signal.aborted) {
      const sinceMs = clock.monotonicMs();
      await sleep(clock, STANDING_LOOK_MS, over.signal);
      const nowMs = clock.monotonicMs();
      standingMs += nowMs - Math.max(sinceMs, countedToMs);
      countedToMs = nowMs;
      if (standingMs >= STANDING_MAX_MS) over.abort();
    }
  };
  try {
    return await rehearse({ ...parts, makeStore: () => parts.makeStore(mayGoOn) }, over.signal);
  } finally {
    forget();
  }
}

/** Resolves when nothing was to be done for `IDLE_MS`, when enough was done, or when the signal is aborted. */
async function untilIdle(
  { world, isBusy, committed }: IdleRehearsalParts,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = world;
  let sinceMs = clock.monotonicMs();
  while (!signal.aborted && committed() < COMMITTED_MAX) {
    if (isBusy()) sinceMs = clock.monotonicMs();
    else if (clock.monotonicMs() - sinceMs >= IDLE_MS) return;
    await sleep(clock, LOOK_MS, signal);
  }
}
