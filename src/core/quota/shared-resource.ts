import type { Claim } from '../cell/claim.ts';
import type { VolumeBinding } from '../cell/volume.ts';
import { attributeOf, plainAttribute } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';

/**
 * Something that hosts share: the uplink of a rack, the power of a row, the bandwidth of a file server. An operator
 * defines how much there is, and which hosts share it. `docs/decisions/shared-resources.md`
 */
export interface SharedResource {
  readonly name: string;
  /** Unit of its amounts, for output: `Mbit/s`. */
  readonly unit: string;
  /** Hosts with one value of this attribute share a pool; null: the whole cell does. */
  readonly by: string | null;
  /** What each pool has, unless `capacities` names it. */
  readonly capacity: number;
  /** By value of the attribute. */
  readonly capacities: Readonly<Record<string, number>>;
  /** Its capacity is a rate that this takes, and no job asks for it. `fetch`: MB a second that hosts fetch of artifacts. */
  readonly rate?: SharedRate;
}

export const SHARED_RATES = ['fetch'] as const;
export type SharedRate = (typeof SHARED_RATES)[number];

/** What is taken of a pool, as stored: the sum over the cell's allocations that use it. */
export interface Pool {
  readonly used: number;
  /** Of a claim on a volume, a pool of its own: where its data lies. `volume-claims.ts` */
  readonly volume?: VolumeBinding;
}

/** The name of the one pool of a resource that the whole cell shares. */
export const CELL_POOL = 'cell';

/** The name of the host's pool; null: the host has no value of the attribute. */
export function poolOn(host: Host, { name, by }: SharedResource): string | null {
  if (by === null) return poolName(name, CELL_POOL);
  const value = attributeOf(host, plainAttribute(by));
  return value === undefined || value === '' ? null : poolName(name, value);
}

export function poolName(resource: string, value: string): string {
  return `${resource}/${value}`;
}

/** The resource's name and the value of its attribute. */
export function partsOfPool(pool: string): { readonly resource: string; readonly value: string } {
  const slash = pool.indexOf('/');
  return { resource: pool.slice(0, slash), value: pool.slice(slash + 1) };
}

export function capacityOf({ capacity, capacities }: SharedResource, value: string): number {
  return Object.hasOwn(capacities, value) ? (capacities[value] ?? 0) : capacity;
}

/** From this share of its capacity on, a pool is warm: others are preferred to it. */
export const WARM_FROM = 0.5;
/** And again at each further step, so that pools of one step share the work. */
const WARM_STEP = 1 / 16;

/** How warm a pool is, in units of the load score's range; 0: not at all. A step outweighs whatever the load of hosts says. */
export function warmthOf(used: number, capacity: number): number {
  if (used < WARM_FROM * capacity || capacity <= 0) return 0;
  return 1 + Math.floor((used / capacity - WARM_FROM) / WARM_STEP);
}

/** The names of the pools that the claims use, each once; most claims use none. */
export function poolsOf(claims: Iterable<Claim>): readonly string[] {
  let names: Set<string> | null = null;
  for (const { shared } of claims) for (const pool in shared) (names ??= new Set()).add(pool);
  return names === null ? NO_POOLS : [...names];
}

const NO_POOLS: readonly string[] = Object.freeze([]);
