/**
 * Classes of interference: what a group is to its neighbours, and which neighbours it avoids. Both are amounts of its
 * claim, named scalars that no host has: so a ledger counts them by precedence like all else, and a version that does not
 * know them places nothing that has them. Two of these names oppose each other: the fit rule refuses the one on a host
 * where the other is in use, whichever came first.
 */

/** Neighbours that a group avoids. */
export interface Avoided {
  readonly class: string;
}

/** What a group says of neighbours. Absent: it is of no class, and avoids none. */
export interface Interference {
  readonly class?: string;
  readonly avoid?: readonly Avoided[];
}

const CLASS = 'class.';
const AVOID = 'avoid.';

/** Scalars of one allocation; null: it says nothing of neighbours. */
export function interferenceScalars({
  class: own,
  avoid = [],
}: Interference): Readonly<Record<string, number>> | null {
  if (own === undefined && avoid.length === 0) return null;
  const scalars: Record<string, number> = {};
  if (own !== undefined) scalars[CLASS + own] = 1;
  for (const { class: other } of avoid) scalars[AVOID + other] = 1;
  return scalars;
}

/** The scalar that must not be in use where this one is; null: it is an amount like any other. */
export function opposedBy(scalar: string): string | null {
  let opposed = known.get(scalar);
  if (opposed === undefined) {
    if (known.size === KNOWN_MAX) known.clear();
    known.set(scalar, (opposed = findOpposed(scalar)));
  }
  return opposed;
}

/** Cache: the same few names are asked for in every decision, and a text that is made anew is dear to look up. */
const known = new Map<string, string | null>();
const KNOWN_MAX = 1_024;

function findOpposed(scalar: string): string | null {
  if (scalar.startsWith(CLASS)) return AVOID + scalar.slice(CLASS.length);
  if (scalar.startsWith(AVOID)) return CLASS + scalar.slice(AVOID.length);
  return null;
}

/** The scalars that must not be in use on a host that a claim with these joins, in one order. */
export function opposedTo(scalars: Readonly<Record<string, number>>): readonly string[] {
  let opposed: string[] | null = null;
  for (const name in scalars) {
    const other = opposedBy(name);
    if (other !== null) (opposed ??= []).push(other);
  }
  if (opposed === null) return NONE;
  return opposed.length === 1 ? opposed : opposed.sort();
}

const NONE: readonly string[] = [];

/** May a claim to which these are opposed join the host? @param free its free scalars; null: none of any */
export function mayJoin(opposed: readonly string[], free: Readonly<Record<string, number>> | null): boolean {
  if (free !== null) for (const name of opposed) if ((free[name] ?? 0) < 0) return false;
  return true;
}

/** Does one of two claims avoid the other, by their scalars? Then they share no host. */
export function areApart(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): boolean {
  return opposedTo(a).some((name) => (b[name] ?? 0) > 0);
}

/** Why such a scalar does not fit, for people; null: it is none of these. */
export function opposedText(scalar: string): string | null {
  if (scalar.startsWith(CLASS)) return `class ${scalar.slice(CLASS.length)} is avoided there`;
  if (scalar.startsWith(AVOID)) return `class ${scalar.slice(AVOID.length)}, which it avoids, is there`;
  return null;
}
