/**
 * Classes of interference: what a group is to its neighbours, which neighbours it avoids, and which it would rather have.
 * The first two are amounts of its claim, named scalars that no host has: so a ledger counts them by precedence like all else, and a version that does not
 * know them places nothing that has them. Two of these names oppose each other: the fit rule refuses the one on a host
 * where the other is in use, whichever came first.
 *
 *     class: latency                                 class.latency
 *     avoid: [batch]                                 avoid.batch
 *     avoid: [{ class: batch, over: host.rack }]     avoid.batch, over.batch.rack
 *
 * What it would rather have (`near`) is a wish of its next placement, like an affinity, and no part of a claim.
 */

type Scalars = Readonly<Record<string, number>>;

/** Neighbours that a group avoids. */
export interface Avoided {
  readonly class: string;
  /** Not on any host that has the same value of this attribute, as far as its scheduler knows; absent: not on its host. */
  readonly over?: string;
}

/** Neighbours that a group would rather have; it is placed anyway where there are none. */
export interface Near {
  readonly class: string;
  /** On any host that has the same value of this attribute; absent: on its host. */
  readonly over?: string;
  /** 1 to 100, as of affinities. */
  readonly weight: number;
}

/** What a group says of neighbours. Absent: it is of no class, avoids none, and is drawn to none. */
export interface Interference {
  readonly class?: string;
  readonly avoid?: readonly Avoided[];
  readonly near?: readonly Near[];
}

/** A class, over all hosts of one value of an attribute. */
export interface Range {
  readonly class: string;
  readonly attribute: string;
}

const CLASS = 'class.';
const AVOID = 'avoid.';
const OVER = 'over.';

/** Scalars of one allocation; null: it says nothing of neighbours. */
export function interferenceScalars({ class: own, avoid = [] }: Interference): Scalars | null {
  if (own === undefined && avoid.length === 0) return null;
  const scalars: Record<string, number> = {};
  if (own !== undefined) scalars[classScalar(own)] = 1;
  for (const { class: other, over } of avoid) {
    scalars[scalarOf(AVOID, other)] = 1;
    if (over !== undefined) scalars[rangeScalar({ class: other, attribute: over })] = 1;
  }
  return scalars;
}

export function classScalar(name: string): string {
  return scalarOf(CLASS, name);
}

function scalarOf(prefix: typeof CLASS | typeof AVOID, name: string): string {
  const scalars = made[prefix];
  let scalar = scalars.get(name);
  if (scalar === undefined) {
    if (scalars.size === KNOWN_MAX) scalars.clear();
    scalars.set(name, (scalar = prefix + name));
  }
  return scalar;
}

/** Cache: a text that is made anew is dear to look up, and each decision asks for the same few. */
const made = { [CLASS]: new Map<string, string>(), [AVOID]: new Map<string, string>() };
const KNOWN_MAX = 1_024;

export function rangeScalar(range: Range): string {
  return `${OVER}${range.class}.${range.attribute}`;
}

/** null: the scalar is none of these. */
export function rangeOf(scalar: string): Range | null {
  if (!scalar.startsWith(OVER)) return null;
  const dot = scalar.indexOf('.', OVER.length);
  return { class: scalar.slice(OVER.length, dot), attribute: scalar.slice(dot + 1) };
}

/** What no host has shows as less than nothing where it is in use. @param free the free scalars of a host; null: none of any */
export function isInUse(free: Scalars | null, name: string): boolean {
  return free !== null && (free[name] ?? 0) < 0;
}

/** The ranges over which a claim with these avoids somebody. */
export function rangesOf(scalars: Scalars): readonly Range[] {
  return saidBy(scalars).ranges;
}

function findRanges(scalars: Scalars): readonly Range[] {
  let ranges: Range[] | null = null;
  for (const name in scalars) {
    const range = rangeOf(name);
    if (range !== null) (ranges ??= []).push(range);
  }
  return ranges ?? NO_RANGES;
}

const NO_RANGES: readonly Range[] = [];

/** The scalar that must not be in use where this one is; null: it is an amount like any other. */
export function opposedBy(scalar: string): string | null {
  let opposed = known.get(scalar);
  if (opposed === undefined) {
    if (known.size === KNOWN_MAX) known.clear();
    known.set(scalar, (opposed = findOpposed(scalar)));
  }
  return opposed;
}

/** Cache, as of `made`. */
const known = new Map<string, string | null>();

function findOpposed(scalar: string): string | null {
  if (scalar.startsWith(CLASS)) return AVOID + scalar.slice(CLASS.length);
  if (scalar.startsWith(AVOID)) return CLASS + scalar.slice(AVOID.length);
  const range = rangeOf(scalar);
  return range === null ? null : CLASS + range.class;
}

/** The scalars that must not be in use on a host that a claim with these joins, each once, in one order. */
export function opposedTo(scalars: Scalars): readonly string[] {
  return saidBy(scalars).opposed;
}

interface Said {
  readonly scalars: Scalars | null;
  readonly opposed: readonly string[];
  readonly ranges: readonly Range[];
}

function saidBy(scalars: Scalars): Said {
  if (scalars !== last.scalars)
    last = { scalars, opposed: findAllOpposed(scalars), ranges: findRanges(scalars) };
  return last;
}

/** Cache: the parts of one decision ask for the same claim. */
let last: Said = { scalars: null, opposed: [], ranges: [] };

function findAllOpposed(scalars: Scalars): readonly string[] {
  let opposed: string[] | null = null;
  for (const name in scalars) {
    const other = opposedBy(name);
    if (other === null) continue;
    if (opposed === null) opposed = [other];
    else if (!opposed.includes(other)) opposed.push(other);
  }
  if (opposed === null) return NONE;
  return opposed.length === 1 ? opposed : opposed.sort();
}

const NONE: readonly string[] = [];

/** May a claim to which these are opposed join the host? @param free its free scalars; null: none of any */
export function mayJoin(opposed: readonly string[], free: Scalars | null): boolean {
  if (free !== null) for (const name of opposed) if (isInUse(free, name)) return false;
  return true;
}

/** Does one of two claims avoid the other, by their scalars? Then they share no host. */
export function areApart(a: Scalars, b: Scalars): boolean {
  return opposedTo(a).some((name) => (b[name] ?? 0) > 0);
}

/** Why a claim does not join a host where this scalar is in use, for people. */
export function opposedText(opposed: string): string {
  return opposed.startsWith(AVOID)
    ? `class ${opposed.slice(AVOID.length)} is avoided there`
    : `class ${opposed.slice(CLASS.length)}, which it avoids, is there`;
}
