import type { Allocation } from '../cell/allocation.ts';
import type { Shortfall } from '../cell/resources.ts';
import type { VolumeBinding, VolumeUse } from '../cell/volume.ts';
import type { KnownPool, PoolBook } from '../quota/pool-book.ts';
import { sharedDimension } from '../quota/pool-book.ts';
import { capacityOf, partsOfPool } from '../quota/shared-resource.ts';
import type { ClaimState } from '../quota/volume-claims.ts';
import { claimOfPool, withHolder, withoutHolder } from '../quota/volume-claims.ts';
import type { Unit } from './commit.ts';
import { poolsIn } from './commit.ts';
import type { Conflicts } from './conflicts.ts';
import { holderEndOf } from './ledger-changes.ts';
import type { Release } from './plan.ts';

/** A pool in a draft: as it was, and what would be taken of it. */
export interface DraftPool {
  readonly pool: string;
  readonly before: KnownPool;
  readonly after: number;
  /** Of a claim on a volume: where its data will lie. */
  readonly volume?: VolumeBinding;
}

export interface ResourceCompare {
  readonly name: string;
  readonly modRevision: number;
}

/** Why allocations cannot land; `missing`: the known record does not hold what they would free. */
export interface Refused {
  readonly conflicts: Conflicts;
  readonly missing: boolean;
}

/** What pools are decided on. */
export interface PoolKnowledge {
  readonly pools: PoolBook;
  readonly isLost: (host: string) => boolean;
}

/**
 * What a draft takes of pools and gives back to them. Evicted allocations hold their part until their release, since they run
 * until then.
 */
export class DraftPools {
  readonly pools: ReadonlyMap<string, DraftPool>;
  /** The definitions by which the pools were found to be large enough. */
  readonly resources: ReadonlyMap<string, ResourceCompare>;

  constructor(
    pools: ReadonlyMap<string, DraftPool> = new Map(),
    resources: ReadonlyMap<string, ResourceCompare> = new Map(),
  ) {
    this.pools = pools;
    this.resources = resources;
  }

  /** @returns with what the unit takes and frees; `waits`: it lacks what an earlier part of the draft has taken or freed */
  with(unit: Unit, knowledge: PoolKnowledge): DraftPools | 'waits' | Refused {
    if (poolsIn(unit).length === 0) return this;
    const change = new Change(this, knowledge);
    for (const { releases } of unit.parts)
      for (const release of releases)
        for (const pool in release.allocation.shared)
          if (!change.free(pool, release))
            return this.pools.has(pool) ? 'waits' : missing(release.allocation);
    for (const { places } of unit.parts)
      for (const place of places)
        for (const pool in place.shared) {
          const short = change.take(pool, place);
          if (short === null) continue;
          return this.pools.has(pool) ? 'waits' : { conflicts: noFit(places, short), missing: false };
        }
    return new DraftPools(change.pools, change.resources);
  }
}

/** One unit's change of the pools of a draft. */
class Change {
  readonly pools: Map<string, DraftPool>;
  readonly resources: Map<string, ResourceCompare>;
  readonly #knowledge: PoolKnowledge;

  constructor({ pools, resources }: DraftPools, knowledge: PoolKnowledge) {
    this.pools = new Map(pools);
    this.resources = new Map(resources);
    this.#knowledge = knowledge;
  }

  /** @returns false: less is taken of the pool than the release frees */
  free(pool: string, release: Release): boolean {
    const { allocation } = release;
    const draft = this.#draftOf(pool);
    const use = volumeUseOf(allocation, pool);
    if (use === undefined) {
      const after = draft.after - (allocation.shared?.[pool] ?? 0);
      if (after < 0) return false;
      this.pools.set(pool, { ...draft, after });
      return true;
    }
    const rest = withoutHolder(stateOf(draft), use, holderEndOf(release, use));
    if (rest === null) return false;
    this.#setClaim(draft, rest);
    return true;
  }

  /** @returns what it lacks; null: nothing */
  take(pool: string, place: Allocation): Shortfall | null {
    const draft = this.#draftOf(pool);
    const use = volumeUseOf(place, pool);
    if (use === undefined) return this.#takeShared(draft, place.shared?.[pool] ?? 0);
    const held = withHolder(stateOf(draft), place, use, this.#knowledge.isLost);
    if (typeof held === 'string') return { dimension: held, needed: 1, available: 0 };
    this.#setClaim(draft, held);
    return null;
  }

  #takeShared(draft: DraftPool, needed: number): Shortfall | null {
    const { pool, after } = draft;
    const { resource: name, value } = partsOfPool(pool);
    const { resource, revision } = this.#knowledge.pools.resource(name);
    const available = (resource === null ? 0 : capacityOf(resource, value)) - after;
    if (needed > available)
      return { dimension: sharedDimension(pool), needed, available: Math.max(0, available) };
    this.pools.set(pool, { ...draft, after: after + needed });
    this.resources.set(name, { name, modRevision: revision });
    return null;
  }

  #draftOf(pool: string): DraftPool {
    const draft = this.pools.get(pool);
    if (draft !== undefined) return draft;
    const before = this.#knowledge.pools.get(pool);
    return { pool, before, after: before.used, ...(before.volume && { volume: before.volume }) };
  }

  #setClaim({ pool, before }: DraftPool, { used, volume }: ClaimState): void {
    this.pools.set(pool, { pool, before, after: used, ...(volume && { volume }) });
  }
}

function stateOf({ after, volume }: DraftPool): ClaimState {
  return { used: after, ...(volume && { volume }) };
}

/** The use behind a claim's pool; undefined: the pool is a shared resource's. */
function volumeUseOf({ volumes }: Allocation, pool: string): VolumeUse | undefined {
  const claim = claimOfPool(pool)?.claim;
  return claim === undefined ? undefined : volumes?.find((use) => use.claim === claim);
}

/** The places of one host, which land or fail together. */
export function noFit(places: readonly Allocation[], short: Shortfall): Conflicts {
  return new Map(places.map(({ id }) => [id, { reason: 'no-fit' as const, short }]));
}

/** The ledger, or the pool, may be old, or the allocation gone. */
export function missing(allocation: Allocation): Refused {
  return { conflicts: new Map([[allocation.id, { reason: 'changed' }]]), missing: true };
}
