/**
 * How a plan becomes transactions. The store is called by `src/runtime/commit/`. In order:
 *
 * 1. `plan.ts`: what one decision wants: places, evictions, releases
 * 2. this file cuts the plan into units, each of which lands or fails as a whole
 * 3. `transaction-draft.ts` collects units in one transaction: compares, new ledgers, records; `draft-pools.ts` is what they do to
 *    pools, `ledger-changes.ts` what each part does to a ledger, `ledger-book.ts` the newest known ledgers
 * 4. `conflicts.ts` tells of a refused transaction what cannot land any more, and what is tried again (a rebase)
 *
 *     plan ──► units ──► drafts ──► applied ──────────────────────► committed, rebased
 *                ▲                    │ refused: compare what was read back
 *                └─────── rest ◄──────┴─► conflicts ──────────────► conflicted
 *
 * `pending-preemption.ts`: victims of a gang that is committed in several transactions. `docs/decisions/commit-and-rebase.md`
 */
import type { Allocation } from '../cell/allocation.ts';
import type { Claim } from '../cell/claim.ts';
import { poolsOf } from '../quota/shared-resource.ts';
import type { Eviction, JobClaim, LostHosts, Plan, Release } from './plan.ts';

/** What of a plan lands or fails together. */
export interface Unit {
  /** `all-or-nothing`: one conflict refuses all of it. */
  readonly atomic: boolean;
  /** One part a host; exactly one when the unit is not atomic. */
  readonly parts: readonly HostPart[];
  /** Those of its plan. */
  readonly lostHosts?: LostHosts;
  /** As its plan. */
  readonly withoutQuota?: boolean;
  /** That of its plan. */
  readonly jobClaim?: JobClaim;
}

export interface HostPart {
  readonly host: string;
  readonly places: readonly Allocation[];
  readonly evictions: readonly Eviction[];
  readonly releases: readonly Release[];
}

/**
 * The units of a plan, in the order in which to try them: releases first, since they free capacity. Under `incremental`
 * every host stands alone, and its releases apart from its places. A host with more than one transaction can hold is cut,
 * unless preemptions there are pending: the revert finds a victim by the members on its host, so they land together.
 */
export function unitsOf(plan: Plan, operationsMax: number): Unit[] {
  const { jobClaim, lostHosts, withoutQuota = false } = plan;
  // Each namespace is compared beside the owners; most plans are of one.
  const namespaces = withoutQuota ? new Set(plan.places.map(({ namespace }) => namespace)).size : 0;
  const room = operationsMax - namespaces;
  const units = lostHosts === undefined ? cut(plan, room) : cutForLost(plan, lostHosts, room);
  if (!withoutQuota && jobClaim === undefined) return units;
  return units.map((unit) => ({ ...unit, withoutQuota, ...(jobClaim && { jobClaim }) }));
}

/** In the worst case each place stands in for hosts of its own, which are compared beside the owner. */
function cutForLost(plan: Plan, lostHosts: LostHosts, operationsMax: number): Unit[] {
  const each = Math.max(1, ...Array.from(lostHosts.values(), ({ length }) => length));
  return cut(plan, Math.floor((operationsMax - 1) / each)).map((unit) => ({ ...unit, lostHosts }));
}

function cut(plan: Plan, operationsMax: number): Unit[] {
  if (plan.atomicity === 'all-or-nothing') {
    const parts = [...byHost(plan).values()];
    return parts.length === 0 ? [] : [{ atomic: true, parts }];
  }
  const { places, evictions, releases } = plan;
  // Most plans are one place of one job.
  if (places.length === 1 && evictions.length + releases.length === 0)
    return placingUnits({ host: places[0]!.host, places, evictions: NONE, releases: NONE }, operationsMax);
  const releasing: Unit[] = [];
  const placing: Unit[] = [];
  for (const part of byHost(plan).values()) {
    const together = part.releases.filter(({ reverts }) => reverts !== undefined);
    // What these releases free belongs to the victims that the same transaction reverts.
    if (together.length > 0)
      releasing.push({
        atomic: true,
        parts: [{ host: part.host, places: [], evictions: [], releases: together }],
      });
    const apart = together.length === 0 ? part.releases : part.releases.filter(({ reverts }) => !reverts);
    for (const releases of slices(apart, releasesMax(part, operationsMax)))
      releasing.push(single({ host: part.host, places: [], evictions: [], releases }));
    placing.push(...placingUnits(part, operationsMax));
  }
  return releasing.length === 0 ? placing : [...releasing, ...placing];
}

/** Beside the ledger and the pools, each release writes twice: it deletes the record and puts the outcome. */
function releasesMax(part: HostPart, operationsMax: number): number {
  const pools = poolsOf(part.releases.map(({ allocation }) => allocation)).length;
  return Math.max(1, Math.floor((operationsMax - 1 - pools) / 2));
}

function placingUnits(part: HostPart, operationsMax: number): Unit[] {
  const { host, places, evictions } = part;
  if (places.length + evictions.length === 0) return [];
  if (evictions.some(({ yields }) => yields !== undefined))
    return [{ atomic: true, parts: [{ host, places, evictions, releases: [] }] }];
  // One write is the ledger's; in the worst case each place has an owner of its own to compare. Each pool is compared and
  // written, and the definition of its resource compared.
  const room = operationsMax - 1 - 2 * poolsOf(places).length;
  if (places.length + evictions.length <= room)
    return [single(part.releases.length === 0 ? part : { host, places, evictions, releases: [] })];
  const units: Unit[] = [];
  const half = Math.max(1, Math.floor(room / 2));
  let restEvictions = evictions;
  let restPlaces = places;
  while (restPlaces.length + restEvictions.length > 0) {
    const nowEvictions = restEvictions.slice(0, half);
    const nowPlaces = restPlaces.slice(0, half);
    units.push(single({ host, places: nowPlaces, evictions: nowEvictions, releases: [] }));
    restEvictions = restEvictions.slice(half);
    restPlaces = restPlaces.slice(half);
  }
  return units;
}

/**
 * Operations of the transaction that releases the places and reverts the pending preemptions for them: one each, the
 * ledger's, the intent's and the pools'. 0: there is no pending preemption.
 */
export function revertOperations({ places, evictions }: HostPart): number {
  if (evictions.every(({ yields }) => yields === undefined)) return 0;
  return places.length + evictions.length + poolsOf(places).length + 2;
}

function single(part: HostPart): Unit {
  return { atomic: false, parts: [part] };
}

/** Every empty list, since most parts have two; never written. */
const NONE: never[] = [];

type Items = Pick<Plan, 'places' | 'evictions' | 'releases'>;

function byHost(plan: Plan): Map<string, HostPart> {
  type Growing = { readonly host: string } & { -readonly [K in keyof Items]: Items[K][number][] };
  const parts = new Map<string, Growing>();
  const partOf = (host: string): Growing => {
    let part = parts.get(host);
    if (part === undefined) parts.set(host, (part = { host, places: NONE, evictions: NONE, releases: NONE }));
    return part;
  };
  const push = <T>(list: T[], item: T): T[] => {
    if (list === NONE) return [item];
    list.push(item);
    return list;
  };
  for (const place of plan.places) {
    const part = partOf(place.host);
    part.places = push(part.places, place);
  }
  for (const eviction of plan.evictions) {
    const part = partOf(eviction.victim.host);
    part.evictions = push(part.evictions, eviction);
  }
  for (const release of plan.releases) {
    const part = partOf(release.allocation.host);
    part.releases = push(part.releases, release);
  }
  return parts;
}

function slices<T>(list: readonly T[], size: number): (readonly T[])[] {
  if (list.length === 0) return [];
  if (list.length <= size) return [list];
  const result: (readonly T[])[] = [];
  for (let at = 0; at < list.length; at += size) result.push(list.slice(at, at + size));
  return result;
}

/** The ids of all that the unit would change: each must get exactly one outcome. */
export function idsOf(unit: Unit): string[] {
  const ids: string[] = [];
  for (const part of unit.parts) {
    for (const place of part.places) ids.push(place.id);
    for (const eviction of part.evictions) ids.push(eviction.victim.id);
    for (const release of part.releases) ids.push(release.allocation.id);
  }
  return ids;
}

/** The pools that the unit changes; most units change none. */
export function poolsIn(unit: Unit): readonly string[] {
  let claims: Claim[] | null = null;
  for (const { places, releases } of unit.parts) {
    for (const place of places) if (place.shared !== undefined) (claims ??= []).push(place);
    for (const { allocation } of releases)
      if (allocation.shared !== undefined) (claims ??= []).push(allocation);
  }
  return poolsOf(claims ?? NONE);
}
