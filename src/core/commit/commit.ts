import type { Allocation } from '../cell/allocation.ts';
import type { Claim } from '../cell/claim.ts';
import type { IntentRef } from '../cell/intent.ts';
import { intentOf } from '../cell/intent.ts';
import type { ConflictReason, Eviction, Plan, Release, Revert } from './plan.ts';
import { partsOfPool, poolsOf } from '../quota/shared-resource.ts';

/**
 * How a plan is cut into what lands or fails together, and what is left of such a unit after a refusal. Pure: the
 * transactions are built by `transaction-draft.ts` and sent by `runtime/committer.ts`.
 *
 *     plan ──► units ──► drafts ──► applied ─────────────────────────► committed, rebased
 *                ▲                    │ refused: judge what was read back
 *                └──── what is left ◄─┴─► what cannot hold any more ──► conflicted
 */
export interface Unit {
  /** `all-or-nothing`: one conflict refuses all of it. */
  readonly atomic: boolean;
  /** One part a host; exactly one when the unit is not atomic. */
  readonly parts: readonly HostPart[];
}

export interface HostPart {
  readonly host: string;
  readonly places: readonly Allocation[];
  readonly evictions: readonly Eviction[];
  readonly releases: readonly Release[];
}

/** Why allocations of a unit cannot land, by allocation id. */
export type Conflicts = ReadonlyMap<string, ConflictReason>;

/**
 * The units of a plan, in the order in which they should be tried: releases first, they make room. Under `incremental`
 * every host stands alone, and its releases apart from its places, since one says nothing about the other. A host with
 * more than one transaction can hold is cut, unless somebody yields there to a gang that may come to nothing: whoever takes
 * him back finds him by the members on his host, so all of them land together or nobody.
 */
export function unitsOf(plan: Plan, operationsMax: number): Unit[] {
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
    // Before those who yielded are back, nobody may take what any of these leaves.
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

/** Beside the ledger's and the pools', each release writes twice: the record goes, the outcome comes. */
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
  // written, and what an operator says of its resource compared.
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
 * Operations that it takes to release the places and to take back the marks of those who yield to them: one for each, the
 * ledger's, the intent's and the pools'. 0: nobody yields there.
 */
export function revertOperations({ places, evictions }: HostPart): number {
  if (evictions.every(({ yields }) => yields === undefined)) return 0;
  return places.length + evictions.length + poolsOf(places).length + 2;
}

function single(part: HostPart): Unit {
  return { atomic: false, parts: [part] };
}

interface GrowingPart {
  readonly host: string;
  places: Allocation[];
  evictions: Eviction[];
  releases: Release[];
}

/** Stands for every empty list, since most parts have two of them; never written to. */
const NONE: never[] = [];

function byHost(plan: Plan): Map<string, GrowingPart> {
  const parts = new Map<string, GrowingPart>();
  const partOf = (host: string): GrowingPart => {
    let part = parts.get(host);
    if (part === undefined) parts.set(host, (part = { host, places: NONE, evictions: NONE, releases: NONE }));
    return part;
  };
  for (const place of plan.places) {
    const part = partOf(place.host);
    if (part.places === NONE) part.places = [place];
    else part.places.push(place);
  }
  for (const eviction of plan.evictions) {
    const part = partOf(eviction.victim.host);
    if (part.evictions === NONE) part.evictions = [eviction];
    else part.evictions.push(eviction);
  }
  for (const release of plan.releases) {
    const part = partOf(release.allocation.host);
    if (part.releases === NONE) part.releases = [release];
    else part.releases.push(release);
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

/** The pools that the unit takes something of or gives back to. Most units do neither, and this is asked of each. */
export function poolsIn(unit: Unit): readonly string[] {
  let claims: Claim[] | null = null;
  for (const { places, releases } of unit.parts) {
    for (const place of places) if (place.shared !== undefined) (claims ??= []).push(place);
    for (const { allocation } of releases)
      if (allocation.shared !== undefined) (claims ??= []).push(allocation);
  }
  return poolsOf(claims ?? NONE);
}

/**
 * Takes out of a unit what cannot land.
 *
 * Of an atomic unit nothing is left. Otherwise the rest stands, but for evictions whose newcomers are all gone: nobody is
 * sent away for nothing.
 *
 * @returns what may be tried again, null when nothing; and the verdict on each id that was taken out
 */
export function prune(
  unit: Unit,
  verdicts: Conflicts,
): { readonly rest: Unit | null; readonly refused: Conflicts } {
  if (verdicts.size === 0) return { rest: unit, refused: verdicts };
  if (unit.atomic) {
    const refused = new Map<string, ConflictReason>();
    for (const id of idsOf(unit)) refused.set(id, verdicts.get(id) ?? { reason: 'plan-refused' });
    return { rest: null, refused };
  }
  const refused = new Map(verdicts);
  const parts: HostPart[] = [];
  for (const part of unit.parts) {
    const places = part.places.filter((place) => !verdicts.has(place.id) && !lacksVictim(place, verdicts));
    for (const place of part.places)
      if (!verdicts.has(place.id) && lacksVictim(place, verdicts))
        refused.set(place.id, { reason: 'plan-refused' });
    const releases = part.releases.filter((release) => !verdicts.has(release.allocation.id));
    let evictions = part.evictions.filter((eviction) => !verdicts.has(eviction.victim.id));
    const firstLost = part.places[0];
    if (places.length === 0 && firstLost !== undefined) {
      const why = verdicts.get(firstLost.id) ?? { reason: 'plan-refused' };
      for (const eviction of evictions) refused.set(eviction.victim.id, why);
      evictions = [];
    }
    if (places.length + evictions.length + releases.length > 0)
      parts.push({ host: part.host, places, evictions, releases });
  }
  return { rest: parts.length === 0 ? null : { atomic: false, parts }, refused };
}

/** It names somebody whom it makes give way, and who will not. */
function lacksVictim({ evicts }: Allocation, verdicts: Conflicts): boolean {
  return evicts?.some((id) => verdicts.has(id)) === true;
}

/** One verdict for everything in the unit. */
export function allOf(unit: Unit, why: ConflictReason): Conflicts {
  return new Map(idsOf(unit).map((id) => [id, why]));
}

/** What a refused transaction found, in the words of the plan. */
export interface FoundRevisions {
  /** The mod revision of the host's ledger, 0 when absent. */
  ledgerRevision(host: string): number;
  /** The create revision of the job's owner key, 0 when absent. */
  ownerRevision(namespace: string, job: string): number;
  /** The mod revision of the allocation, 0 when absent. */
  allocationRevision(allocation: Allocation): number;
  /** The mod revision of the intent, 0 when absent. */
  intentRevision(intent: IntentRef): number;
  /** The mod revision of the pool's record, 0 when absent. */
  poolRevision(pool: string): number;
  /** The mod revision of what an operator says of the shared resource, 0 when absent. */
  resourceRevision(name: string): number;
}

/** What a unit was sent with. */
export interface SentRevisions {
  ledgerRevision(host: string): number;
  /** The owner key that we hold now: the create revision, undefined when none. */
  ownerRevision(namespace: string, job: string): number | undefined;
  /** The open intent that we hold now: its mod revision, undefined when it is none of ours. */
  intentRevision(intent: IntentRef): number | undefined;
  poolRevision(pool: string): number;
  resourceRevision(name: string): number;
}

/**
 * Judges a unit after its transaction was refused, all but the fit, which is judged anew with the next draft.
 *
 * @param version true: under `conflictCheck: version`, where a moved ledger is a conflict whatever it holds
 * @returns `moved`: a ledger or a pool of the unit had changed, so landing later is a rebase
 */
export function conflictsIn(
  unit: Unit,
  sent: SentRevisions,
  found: FoundRevisions,
  version: boolean,
): { readonly verdicts: Conflicts; readonly moved: boolean } {
  const verdicts = new Map<string, ConflictReason>();
  let moved = false;
  for (const part of unit.parts) {
    const partMoved = found.ledgerRevision(part.host) !== sent.ledgerRevision(part.host);
    // Freeing has nothing to do with the version that a place was decided on.
    moved ||= partMoved && !(version && part.places.length === 0);
    const sharedMoved = poolMoved(part.places, sent, found);
    moved ||= sharedMoved;
    judgeRecords(part, sent, found, verdicts);
    for (const place of part.places) {
      const held = sent.ownerRevision(place.namespace, place.job);
      if (held === undefined || found.ownerRevision(place.namespace, place.job) !== held)
        verdicts.set(place.id, { reason: 'not-owner' });
      else if (isGone(intentOf(place), sent, found)) verdicts.set(place.id, { reason: 'intent-gone' });
      else if (version && (partMoved || sharedMoved)) verdicts.set(place.id, { reason: 'version' });
    }
  }
  return { verdicts, moved };
}

function poolMoved(places: readonly Allocation[], sent: SentRevisions, found: FoundRevisions): boolean {
  return poolsOf(places).some((pool) => {
    const { resource } = partsOfPool(pool);
    return (
      found.poolRevision(pool) !== sent.poolRevision(pool) ||
      found.resourceRevision(resource) !== sent.resourceRevision(resource)
    );
  });
}

function isGone(intent: IntentRef | undefined, sent: SentRevisions, found: FoundRevisions): boolean {
  return intent !== undefined && found.intentRevision(intent) !== sent.intentRevision(intent);
}

function judgeRecords(
  part: HostPart,
  sent: SentRevisions,
  found: FoundRevisions,
  verdicts: Map<string, ConflictReason>,
): void {
  for (const { victim, victimRevision, yields } of part.evictions) {
    if (found.allocationRevision(victim) !== victimRevision) verdicts.set(victim.id, { reason: 'changed' });
    else if (isGone(yields?.intent, sent, found)) verdicts.set(victim.id, { reason: 'intent-gone' });
  }
  for (const { allocation, revision, voidedAt, reverts } of part.releases) {
    const { id, namespace, job } = allocation;
    const intent = voidedAt === undefined ? undefined : intentOf(allocation);
    const isMarked = (one: Revert): boolean => found.allocationRevision(one.victim) === one.revision;
    if (reverts?.every(isMarked) === false) verdicts.set(id, { reason: 'changed' });
    else if (found.allocationRevision(allocation) !== revision) verdicts.set(id, { reason: 'changed' });
    else if (intent !== undefined) {
      if (found.intentRevision(intent) !== voidedAt) verdicts.set(id, { reason: 'changed' });
    } else if (found.ownerRevision(namespace, job) !== (sent.ownerRevision(namespace, job) ?? 0))
      verdicts.set(id, { reason: 'not-owner' });
  }
}
