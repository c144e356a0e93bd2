import type { Claim } from '../cell/claim.ts';
import { attributeOf, plainAttribute } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';

/**
 * Something that hosts share and that no single host can count: the uplink of a rack, the power of a row, the bandwidth of
 * a file server. An operator says what there is of it, and which hosts share it.
 */
export interface SharedResource {
  readonly name: string;
  /** What its amounts mean, for people: `Mbit/s`. */
  readonly unit: string;
  /** Hosts of one value of this attribute share a pool; null: the whole cell is one. */
  readonly by: string | null;
  /** What each pool has, unless `capacities` names it. */
  readonly capacity: number;
  /** By value of the attribute. */
  readonly capacities: Readonly<Record<string, number>>;
}

/** What is taken of a pool, as it lies in the store: the sum over the allocations in the cell that name it. */
export interface Pool {
  readonly used: number;
}

/** The name of the one pool of a resource that the whole cell shares. */
export const CELL_POOL = 'cell';

/** The name of the pool that the host belongs to; null: it has no value of the attribute, and none of the resource. */
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

/** The names of the pools that the claims take something of, each once; most claims take of none. */
export function poolsOf(claims: Iterable<Claim>): readonly string[] {
  let names: Set<string> | null = null;
  for (const { shared } of claims) for (const pool in shared) (names ??= new Set()).add(pool);
  return names === null ? NO_POOLS : [...names];
}

const NO_POOLS: readonly string[] = Object.freeze([]);
