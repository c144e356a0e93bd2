/**
 * Which of the live schedulers of one kind claims a job. The create-only owner key makes it safe; this order only keeps
 * all of them from writing the same key at once, and spreads the jobs evenly. A scheduler waits for those that rank before
 * it, longer while one of them claims jobs, and at most 5 s. `docs/decisions/job-ownership.md`
 */

/** Delay from one rank to the next: longer than a create takes to be seen. */
export const STEP_IN_MS = 500;

/** A job without an owner waits no longer than this, however many schedulers there are. */
export const STEP_IN_MAX_MS = 5_000;

/**
 * Rendezvous hashing: each scheduler has a score for each job, and the highest ranks first. When one leaves, only its own
 * jobs move, each to the next in its order.
 * @returns the rank of `self` among `schedulers` (which need not contain it); 0 is first
 */
export function ownerRank(jobKey: string, schedulers: Iterable<string>, self: string): number {
  const own = rendezvousScore(jobKey, self);
  let rank = 0;
  for (const other of schedulers) {
    if (other === self) continue;
    const score = rendezvousScore(jobKey, other);
    if (score > own || (score === own && other < self)) rank += 1;
  }
  return rank;
}

/** How long a scheduler of this rank leaves an ownerless job to those before it. */
export function stepInDelayMs(rank: number): number {
  return Math.min(rank * STEP_IN_MS, STEP_IN_MAX_MS);
}

/** FNV-1a over both names with a final mix: FNV alone barely changes its high bits at the last letter. */
export function rendezvousScore(jobKey: string, scheduler: string): number {
  let hash = 0x811c9dc5;
  for (const text of [scheduler, '\n', jobKey]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
