import type { Allocation } from '../cell/allocation.ts';
import type { Eligibility, FenceAnswer, FenceAnswers } from './host.ts';

/** The host fences itself: it stops what is cut off for `disconnect.stopAfter`. No program is asked, and nobody confirms it. */
export const SELF_FENCE = 'self';

/** So many different fences one group may name. */
export const FENCES_MAX = 8;

/**
 * Is the allocation confirmed to run no more on its host, which is lost? One of the fences is enough. That a fence has confirmed
 * counter n is true for ever of what was committed under a smaller one, so a late reader of the host's record takes nothing newer for
 * fenced.
 *
 * @param verdict of its host; undefined: there is none
 * @param names the fences of its group (`Group.fences`)
 */
export function isFenced(
  verdict: Pick<Eligibility, 'state' | 'confirmed' | 'fences'> | undefined,
  names: readonly string[],
  { epoch }: Pick<Allocation, 'epoch'>,
): boolean {
  if (verdict?.state !== 'lost') return false;
  return verdict.confirmed === 'removed' || isConfirmed(verdict.fences, names, epoch.counter);
}

/** @param counter of the fencing epoch under which the allocation was committed */
export function isConfirmed(
  answers: FenceAnswers | undefined,
  names: readonly string[],
  counter: number,
): boolean {
  return names.some((name) => {
    const answer = answers?.[name];
    return answer?.confirmed === true && counter < answer.counter;
  });
}

/**
 * The answers of a host with one more. A confirmation stays.
 * @returns null: the host is not lost, or its verdict is another one than that for which the fence was asked
 */
export function withFenceAnswer(
  { state, counter, fences = {} }: Pick<Eligibility, 'state' | 'counter' | 'fences'>,
  name: string,
  answer: FenceAnswer,
): FenceAnswers | null {
  if (state !== 'lost' || counter !== answer.counter) return null;
  return fences[name]?.confirmed === true ? fences : { ...fences, [name]: answer };
}

/** For people: `power: not confirmed 3 s ago by monitor-1: exit 1`. */
export function answerText(
  name: string,
  { confirmed, atMs, by, detail }: FenceAnswer,
  nowMs: number,
): string {
  const ago = `${String(Math.max(0, Math.round((nowMs - atMs) / 1_000)))} s ago`;
  return `${name}: ${confirmed ? 'confirmed' : 'not confirmed'} ${ago} by ${by}: ${detail}`;
}
