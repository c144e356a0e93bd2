import type { Host } from '../host/host.ts';
import type { Shortfall } from '../cell/resources.ts';
import type { SharedUse } from '../cell/claim.ts';
import type { VolumeBinding } from '../cell/volume.ts';
import type { SharedResource } from './shared-resource.ts';
import { capacityOf, partsOfPool, poolOn, warmthOf } from './shared-resource.ts';

/** What is taken of a pool, and the store revision that wrote it; revision 0: no record. */
export interface KnownPool {
  readonly used: number;
  readonly revision: number;
  /** Of a claim on a volume: where its data lies. */
  readonly volume?: VolumeBinding;
}

/** An operator's definition of a resource; null, at revision 0: there is none of that name of which jobs take. */
export interface KnownResource {
  readonly resource: SharedResource | null;
  readonly revision: number;
}

const UNUSED: KnownPool = Object.freeze({ used: 0, revision: 0 });
const UNDEFINED: KnownResource = Object.freeze({ resource: null, revision: 0 });

/** The revision is kept of absent records too: a late watch event must not bring back a deleted one. */
interface AsOf<T> {
  readonly asOf: number;
  readonly known: T;
}

/**
 * The newest known state of shared resources and pools, plus the scheduler's own claims in flight. The watch and the
 * replies to commits fill it and overtake each other, so only a higher revision replaces what is known.
 */
export class PoolBook {
  readonly #pools = new Map<string, AsOf<KnownPool>>();
  readonly #resources = new Map<string, AsOf<KnownResource>>();
  readonly #assumed = new Map<string, number>();
  /** Of each resource, the values whose pools are warm. */
  readonly #warm = new Map<string, Set<string>>();

  /**
   * @param used null: the pool has no record
   * @param revision that wrote the record; for null, at which it was absent
   * @returns false: not newer than what is known, and ignored
   */
  observe(pool: string, used: number | null, revision: number, volume?: VolumeBinding): boolean {
    if (revision <= (this.#pools.get(pool)?.asOf ?? 0)) return false;
    const of = volume === undefined ? {} : { volume };
    this.#pools.set(pool, { asOf: revision, known: used === null ? UNUSED : { used, revision, ...of } });
    if (volume === undefined) this.#noteWarmth(pool);
    return true;
  }

  /** As `observe`. Of a rate jobs take nothing: for them it is not there. */
  define(name: string, resource: SharedResource | null, revision: number): boolean {
    if (revision <= (this.#resources.get(name)?.asOf ?? 0)) return false;
    this.#resources.set(name, {
      asOf: revision,
      known: resource === null || resource.rate !== undefined ? UNDEFINED : { resource, revision },
    });
    for (const pool of new Set([...this.#pools.keys(), ...this.#assumed.keys()]))
      if (partsOfPool(pool).resource === name) this.#noteWarmth(pool);
    return true;
  }

  /** Changes of the copy are none of this book. */
  copy(): PoolBook {
    const copy = new PoolBook();
    for (const [name, pool] of this.#pools) copy.#pools.set(name, pool);
    for (const [name, resource] of this.#resources) copy.#resources.set(name, resource);
    for (const [pool, sum] of this.#assumed) copy.#assumed.set(pool, sum);
    for (const [name, values] of this.#warm) copy.#warm.set(name, new Set(values));
    return copy;
  }

  get(pool: string): KnownPool {
    return this.#pools.get(pool)?.known ?? UNUSED;
  }

  resource(name: string): KnownResource {
    return this.#resources.get(name)?.known ?? UNDEFINED;
  }

  /** Adds (`sign` 1) or removes (−1) the use of a claim in flight. */
  assume(use: SharedUse, sign: 1 | -1): void {
    for (const pool in use) {
      const sum = (this.#assumed.get(pool) ?? 0) + sign * (use[pool] ?? 0);
      if (sum === 0) this.#assumed.delete(pool);
      else this.#assumed.set(pool, sum);
      this.#noteWarmth(pool);
    }
  }

  /** What is free of the pool, claims in flight counted; nothing when its resource is not defined. */
  free(pool: string): number {
    const { resource, value } = partsOfPool(pool);
    const known = this.resource(resource).resource;
    if (known === null) return 0;
    return capacityOf(known, value) - this.get(pool).used - (this.#assumed.get(pool) ?? 0);
  }

  /** The values whose pools of the resource are warm (`warmthOf`), claims in flight counted. */
  warm(resource: string): ReadonlySet<string> {
    return this.#warm.get(resource) ?? NONE_WARM;
  }

  /** How warm the host's pools of what is asked for are, together. */
  warmthOn(host: Host, asked: SharedUse | undefined): number {
    let sum = 0;
    for (const name in asked) {
      const { resource } = this.resource(name);
      const pool = resource === null ? null : poolOn(host, resource);
      if (resource === null || resource.by === null || pool === null) continue;
      const capacity = capacityOf(resource, partsOfPool(pool).value);
      sum += warmthOf(capacity - this.free(pool), capacity);
    }
    return sum;
  }

  #noteWarmth(pool: string): void {
    const { resource: name, value } = partsOfPool(pool);
    const { resource } = this.resource(name);
    const capacity = resource === null ? 0 : capacityOf(resource, value);
    let warm = this.#warm.get(name);
    if (resource === null || warmthOf(capacity - this.free(pool), capacity) === 0) {
      warm?.delete(value);
      return;
    }
    if (warm === undefined) this.#warm.set(name, (warm = new Set()));
    warm.add(value);
  }

  /** What an allocation takes of the host's pools. @throws when the host has no pool of a resource */
  useOn(host: Host, asked: SharedUse): SharedUse {
    const use: Record<string, number> = {};
    for (const name in asked) {
      const { resource } = this.resource(name);
      const pool = resource === null ? null : poolOn(host, resource);
      if (pool === null) throw new Error(`${host.id} has no part in ${name}`);
      use[pool] = asked[name] ?? 0;
    }
    return use;
  }

  /** Why the host's pools cannot give what is asked; null: they can. */
  refusalOn(
    host: Host,
    asked: SharedUse | undefined,
  ): { readonly detail: string; readonly short: Shortfall } | null {
    for (const name in asked) {
      const needed = asked[name] ?? 0;
      const { resource } = this.resource(name);
      const short = (dimension: string, available: number): Shortfall => ({ dimension, needed, available });
      if (resource === null)
        return {
          detail: `no shared resource ${name} is defined for jobs`,
          short: short(sharedDimension(name), 0),
        };
      const pool = poolOn(host, resource);
      if (pool === null)
        return {
          detail: `has no ${resource.by ?? ''}, and so no ${name}`,
          short: short(sharedDimension(name), 0),
        };
      const free = this.free(pool);
      if (needed > free)
        return {
          detail: poolText(pool, resource.unit, needed, Math.max(0, free)),
          short: short(sharedDimension(pool), free),
        };
    }
    return null;
  }
}

const NONE_WARM: ReadonlySet<string> = new Set();

/** How a shortfall names a pool or a shared resource. */
export function sharedDimension(name: string): string {
  return `shared:${name}`;
}

function poolText(pool: string, unit: string, needed: number, free: number): string {
  const amount = (n: number): string => `${String(n)}${unit === '' ? '' : ` ${unit}`}`;
  return `${pool} lacks ${amount(needed - free)} (needs ${amount(needed)}, ${amount(free)} free)`;
}
