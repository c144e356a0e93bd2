/**
 * Tokens of several buckets of which one alone is of no use, such as of the cell and of a rack. They are drawn of all buckets
 * or of none: what one had drawn would be lost before another bucket has any, again and again.
 */
import type { Bucket, BucketRule, Slice } from './token-bucket.ts';
import { draw, sliceOf, spend } from './token-bucket.ts';

/** What is to be drawn of one of them. */
export interface Wanted {
  readonly rule: BucketRule;
  /** undefined: nothing was ever drawn. */
  readonly known: Bucket | undefined;
  /** Fewer are of no use; at most `burst`, and one at least. */
  readonly least: number;
}

/** In the order of what was wanted. */
export interface Drawn {
  /** 0: nothing was drawn of any bucket. */
  readonly taken: number;
  /** To be written instead; null: it stays as it is. */
  readonly bucket: Bucket | null;
  /** When there could be so many; null: there were. */
  readonly lacksUntilMs: number | null;
}

export function drawTogether(wanted: readonly Wanted[], nowMs: number): readonly Drawn[] {
  const drawn = wanted.map(({ rule, known, least }) =>
    draw(rule, known, { least, most: sliceOf(rule) }, nowMs),
  );
  const isShort = drawn.some(({ taken }) => taken === 0);
  return drawn.map(({ taken, bucket, nextAtMs }) => {
    if (taken === 0) return { taken, bucket, lacksUntilMs: nextAtMs };
    return { taken: isShort ? 0 : taken, bucket: isShort ? null : bucket, lacksUntilMs: null };
  });
}

/**
 * @param slices of each bucket, by its name; @param amounts of each that is needed
 * @returns what is left of those, and until when what was spent is to be used; null: there is not so much of each
 */
export function spendTogether(
  slices: ReadonlyMap<string, readonly Slice[]>,
  amounts: readonly { readonly name: string; readonly tokens: number }[],
  nowMs: number,
): { readonly left: ReadonlyMap<string, readonly Slice[]>; readonly useUntilMs: number } | null {
  const left = new Map<string, readonly Slice[]>();
  let useUntilMs = Number.POSITIVE_INFINITY;
  for (const { name, tokens } of amounts) {
    const spent = spend(slices.get(name) ?? [], tokens, nowMs);
    if (spent === null) return null;
    left.set(name, spent.slices);
    useUntilMs = Math.min(useUntilMs, spent.useUntilMs);
  }
  return { left, useUntilMs };
}
