import { opposedBy } from './interference.ts';

/**
 * Resource amounts as integers, so that the sum of a million of them is exact: cpu in millicores, memory and disk in MiB,
 * gpu in thousandths of a device, scalars in the operator's unit.
 */
export interface Resources {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly diskMib: number;
  /** Named amounts that an operator defines (licences, cache, IOPS). A name that is absent counts as 0. */
  readonly scalars: Readonly<Record<string, number>>;
}

/** What a task wants of GPUs: `count` devices, `milliEach` thousandths of each, of one of `models` (empty: any). */
export interface GpuRequest {
  readonly count: number;
  readonly milliEach: number;
  readonly models: readonly string[];
}

/** A part of one device that is given away: device index on its host, and thousandths. */
export interface GpuShare {
  readonly device: number;
  readonly milli: number;
}

export const GPU_MILLI_PER_DEVICE = 1000;

/** The scalar that counts the IP addresses a host can lease to its allocations. */
export const ADDRESSES = 'addresses';

export const NO_SCALARS: Readonly<Record<string, number>> = Object.freeze({});

export const NO_RESOURCES: Resources = Object.freeze({
  cpuMilli: 0,
  memoryMib: 0,
  diskMib: 0,
  scalars: NO_SCALARS,
});

function combineScalars(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
  sign: 1 | -1,
): Readonly<Record<string, number>> {
  if (b === NO_SCALARS) return a;
  const result: Record<string, number> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const sum = (result[name] ?? 0) + sign * amount;
    // A zero and an absent name mean the same; only one of them may be written, or equal ledgers would differ as text.
    if (sum === 0) delete result[name];
    else result[name] = sum;
  }
  return Object.keys(result).length === 0 ? NO_SCALARS : result;
}

export function addResources(a: Resources, b: Resources): Resources {
  return {
    cpuMilli: a.cpuMilli + b.cpuMilli,
    memoryMib: a.memoryMib + b.memoryMib,
    diskMib: a.diskMib + b.diskMib,
    scalars: combineScalars(a.scalars, b.scalars, 1),
  };
}

export function subtractResources(a: Resources, b: Resources): Resources {
  return {
    cpuMilli: a.cpuMilli - b.cpuMilli,
    memoryMib: a.memoryMib - b.memoryMib,
    diskMib: a.diskMib - b.diskMib,
    scalars: combineScalars(a.scalars, b.scalars, -1),
  };
}

/** Is any amount below zero? Then something was released twice. */
export function hasNegative(r: Resources): boolean {
  return (
    r.cpuMilli < 0 ||
    r.memoryMib < 0 ||
    r.diskMib < 0 ||
    Object.values(r.scalars).some((amount) => amount < 0)
  );
}

export function isZero(r: Resources): boolean {
  return r.cpuMilli === 0 && r.memoryMib === 0 && r.diskMib === 0 && Object.keys(r.scalars).length === 0;
}

/** A dimension of which there is too little. */
export interface Shortfall {
  /** `cpu`, `memory`, `disk`, `gpu`, `port`, `scalar:<name>`, `interference:<name>`, or a state of the host that forbids the claim. */
  readonly dimension: string;
  readonly needed: number;
  readonly available: number;
}

/**
 * Does `asked` fit into `free`?
 * @returns the first short dimension, in the fixed order cpu, memory, disk, scalars by name; null when it fits.
 */
export function shortOf(asked: Resources, free: Resources): Shortfall | null {
  if (asked.cpuMilli > free.cpuMilli)
    return { dimension: 'cpu', needed: asked.cpuMilli, available: free.cpuMilli };
  if (asked.memoryMib > free.memoryMib)
    return { dimension: 'memory', needed: asked.memoryMib, available: free.memoryMib };
  if (asked.diskMib > free.diskMib)
    return { dimension: 'disk', needed: asked.diskMib, available: free.diskMib };
  if (asked.scalars === NO_SCALARS) return null;
  for (const name of Object.keys(asked.scalars).sort()) {
    const short = shortOfScalar(asked.scalars, free.scalars, name);
    if (short !== null) return short;
  }
  return null;
}

/** Does `asked` fit as far as its scalars say? @param free null: none of any */
export function scalarsFit(asked: Resources['scalars'], free: Resources['scalars'] | null): boolean {
  for (const name in asked) if (shortOfScalar(asked, free ?? NO_SCALARS, name) !== null) return false;
  return true;
}

/** What no host has shows as less than nothing where it is in use. */
function shortOfScalar(
  asked: Resources['scalars'],
  free: Resources['scalars'],
  name: string,
): Shortfall | null {
  const needed = asked[name] ?? 0;
  const opposed = opposedBy(name);
  if (opposed !== null)
    return (free[opposed] ?? 0) < 0 ? { dimension: `interference:${name}`, needed, available: 0 } : null;
  const available = free[name] ?? 0;
  return needed > available ? { dimension: `scalar:${name}`, needed, available } : null;
}
