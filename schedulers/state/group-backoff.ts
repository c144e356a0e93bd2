import { Backoff } from '../../src/runtime/wait/backoff.ts';
import type { OwnedJob } from './owned-job.ts';
import type { Term } from './state.ts';

/**
 * Delay of a group after a refusal, doubling: long enough for other schedulers to get through, and short enough that a slot
 * which fits again is filled within 5 s (I10).
 */
const DELAY = { firstMs: 100, maxMs: 4_000 };
/** From `firstMs` to `maxMs`. */
const DOUBLINGS_MAX = 7;

/**
 * Delays the next decision for the group. Many refused placements of one decision count once.
 *
 * @param delayMs null: the next step of the group's backoff, which starts anew when an allocation of it has started
 */
export function backOffGroup(
  term: Term,
  job: OwnedJob,
  group: string,
  why: string,
  delayMs: number | null,
): void {
  const state = job.group(group);
  const nowMs = term.world.clock.monotonicMs();
  state.blockedWhy = why;
  if (job.dropped || state.blockedUntilMs > nowMs) return;
  state.blocks = Math.min(state.blocks + 1, DOUBLINGS_MAX);
  const firstMs = DELAY.firstMs * 2 ** (state.blocks - 1);
  const waitMs = delayMs ?? new Backoff({ ...DELAY, firstMs }, term.world.random).nextMs();
  state.blockedUntilMs = nowMs + waitMs;
  term.enqueueAfter(job, waitMs);
}
