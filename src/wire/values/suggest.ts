/** The candidate nearest to the typed word, if it is near enough to be meant. */
export function nearest(typed: string, candidates: Iterable<string>): string | null {
  const wanted = typed.toLowerCase();
  // One slip in three letters, never more than three: beyond that a suggestion is a guess and misleads.
  let bestDistance = Math.min(3, Math.ceil(wanted.length / 3)) + 1;
  let best: string | null = null;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(typed: string, candidates: Iterable<string>): string {
  const found = nearest(typed, candidates);
  return found === null ? '' : `; did you mean "${found}"?`;
}

/**
 * Edits (insert, delete, replace, swap of neighbours) from `a` to `b`; `bound` or more is given as `bound`. The packages for
 * this count a swap as two edits, and typing errors are mostly swaps.
 */
export function editDistance(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) >= bound) return bound;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a.charAt(i - 1) === b.charAt(j - 1);
      let cost = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = a.charAt(i - 1) === b.charAt(j - 2) && a.charAt(i - 2) === b.charAt(j - 1);
      if (i > 1 && j > 1 && swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return Math.min(last[b.length] ?? bound, bound);
}
