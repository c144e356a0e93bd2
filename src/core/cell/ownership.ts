/**
 * Who of the living schedulers of one kind works on a job. Safety comes from the create-only owner key; this order only
 * keeps them from all reaching for the same key at once, and spreads the jobs evenly without a word between them.
 */

/** Steps between the ranks: longer than a create takes to show, shorter than anybody would notice. */
export const STEP_IN_MS = 500;

/** However many schedulers there are, an ownerless job waits no longer than this for the last of them. */
export const STEP_IN_MAX_MS = 5_000;

/**
 * Rendezvous order: each scheduler has a score for each job, the highest goes first. When one leaves, only its own jobs
 * move, each to the next in its own order.
 * @returns 0 for the first; the place of `self` among `schedulers` (which need not contain it)
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

/** FNV-1a over both names with a final mix: FNV alone barely moves its high bits at the last letter. */
export function rendezvousScore(jobKey: string, scheduler: string): number {
  let hash = 0x811c9dc5;
  for (const text of [scheduler, '\n', jobKey]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
