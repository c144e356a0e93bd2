import { Backoff } from '../../src/runtime/wait/backoff.ts';
import type { Term } from './state.ts';
import type { OwnedJob } from './owned-job.ts';

/**
 * How long a group waits when it was refused, doubling: long enough for others to get through, and short enough that a slot for
 * which there is room again is filled within 5 s (I10).
 */
const BLOCK = { firstMs: 100, maxMs: 4_000 };
/** From `firstMs` to `maxMs`. */
const BLOCK_DOUBLINGS_MAX = 7;

/**
 * No try for the group for a while. One refusal for each of many placements of one try is one reason to wait.
 *
 * @param delayMs null: the next step of the group's backoff, which starts anew when an allocation of it has started
 */
export function block(term: Term, job: OwnedJob, group: string, why: string, delayMs: number | null): void {
  const state = job.group(group);
  const nowMs = term.world.clock.monotonicMs();
  state.blockedWhy = why;
  if (job.dropped || state.blockedUntilMs > nowMs) return;
  state.blocks = Math.min(state.blocks + 1, BLOCK_DOUBLINGS_MAX);
  const backoff = new Backoff(
    { ...BLOCK, firstMs: BLOCK.firstMs * 2 ** (state.blocks - 1) },
    term.world.random,
  );
  const waitMs = delayMs ?? backoff.nextMs();
  state.blockedUntilMs = nowMs + waitMs;
  term.lookAfter(job, waitMs);
}
