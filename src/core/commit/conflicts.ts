import type { Allocation } from '../cell/allocation.ts';
import type { IntentRef } from '../cell/intent.ts';
import { intentOf } from '../cell/intent.ts';
import type { LostHost } from '../host/host.ts';
import { partsOfPool, poolsOf } from '../quota/shared-resource.ts';
import type { HostPart, Unit } from './commit.ts';
import { idsOf } from './commit.ts';
import type { ConflictReason, Revert } from './plan.ts';

/** Why allocations of a unit cannot land, by allocation id. */
export type Conflicts = ReadonlyMap<string, ConflictReason>;

/**
 * Removes from a unit what cannot land: all of an atomic unit; of others the conflicting parts, and evictions whose
 * newcomers are all removed.
 *
 * @returns what may be tried again, null: nothing; and why each id was removed
 */
export function prune(
  unit: Unit,
  conflicts: Conflicts,
): { readonly rest: Unit | null; readonly refused: Conflicts } {
  if (conflicts.size === 0) return { rest: unit, refused: conflicts };
  if (unit.atomic) {
    const refused = new Map<string, ConflictReason>();
    for (const id of idsOf(unit)) refused.set(id, conflicts.get(id) ?? { reason: 'plan-refused' });
    return { rest: null, refused };
  }
  const refused = new Map(conflicts);
  const parts: HostPart[] = [];
  for (const part of unit.parts) {
    const places = part.places.filter((place) => !conflicts.has(place.id) && !lacksVictim(place, conflicts));
    for (const place of part.places)
      if (!conflicts.has(place.id) && lacksVictim(place, conflicts))
        refused.set(place.id, { reason: 'plan-refused' });
    const releases = part.releases.filter((release) => !conflicts.has(release.allocation.id));
    let evictions = part.evictions.filter((eviction) => !conflicts.has(eviction.victim.id));
    const firstLost = part.places[0];
    if (places.length === 0 && firstLost !== undefined) {
      const why = conflicts.get(firstLost.id) ?? { reason: 'plan-refused' };
      for (const eviction of evictions) refused.set(eviction.victim.id, why);
      evictions = [];
    }
    if (places.length + evictions.length + releases.length > 0)
      parts.push({ host: part.host, places, evictions, releases });
  }
  return { rest: parts.length === 0 ? null : { ...unit, parts }, refused };
}

/** Is one of its victims not evicted? */
function lacksVictim({ evicts }: Allocation, conflicts: Conflicts): boolean {
  return evicts?.some((id) => conflicts.has(id)) === true;
}

/** One reason for everything in the unit. */
export function allOf(unit: Unit, why: ConflictReason): Conflicts {
  return new Map(idsOf(unit).map((id) => [id, why]));
}

/** The revisions that a refused transaction read back. */
export interface FoundRevisions {
  /** The mod revision of the host's ledger, 0 when absent. */
  ledgerRevision(host: string): number;
  /** The create revision of the job's owner key, 0 when absent. */
  ownerRevision(namespace: string, job: string): number;
  /** The mod revision of the allocation, 0 when absent. */
  allocationRevision(allocation: Allocation): number;
  /** The mod revision of the intent, 0 when absent. */
  intentRevision(intent: IntentRef): number;
  /** The mod revision of the host's eligibility, 0 when absent. */
  eligibilityRevision(host: string): number;
  /** false also where the transaction did not compare it. */
  hasQuota(namespace: string): boolean;
  /** The mod revision of the pool's record, 0 when absent. */
  poolRevision(pool: string): number;
  /** The mod revision of the shared resource's definition, 0 when absent. */
  resourceRevision(name: string): number;
}

/** The revisions that a unit was sent with. */
export interface SentRevisions {
  ledgerRevision(host: string): number;
  /** The create revision of the owner key that this scheduler holds now; undefined: none. */
  ownerRevision(namespace: string, job: string): number | undefined;
  /** The mod revision of this scheduler's open intent; undefined: none. */
  intentRevision(intent: IntentRef): number | undefined;
  poolRevision(pool: string): number;
  resourceRevision(name: string): number;
}

/**
 * The conflicts of a unit whose transaction was refused, except the fit, which the next draft tests.
 *
 * @param version true: `conflictCheck: version`, where a moved ledger is a conflict whatever it holds
 * @returns `moved`: a ledger or a pool of the unit has changed, so landing later is a rebase
 */
export function conflictsIn(
  unit: Unit,
  sent: SentRevisions,
  found: FoundRevisions,
  version: boolean,
): { readonly conflicts: Conflicts; readonly moved: boolean } {
  // It is claimed apart then: most often another scheduler was faster, and the reply does not show all that may be there.
  if (unit.jobClaim !== undefined) return { conflicts: allOf(unit, { reason: 'not-owner' }), moved: false };
  const conflicts = new Map<string, ConflictReason>();
  let moved = false;
  for (const part of unit.parts) {
    const partMoved = found.ledgerRevision(part.host) !== sent.ledgerRevision(part.host);
    // A release does not depend on the version that was read.
    moved ||= partMoved && !(version && part.places.length === 0);
    const sharedMoved = poolMoved(part.places, sent, found);
    moved ||= sharedMoved;
    recordConflicts(part, sent, found, conflicts);
    for (const place of part.places) {
      const held = sent.ownerRevision(place.namespace, place.job);
      const back = backOf(unit, place, found);
      if (held === undefined || found.ownerRevision(place.namespace, place.job) !== held)
        conflicts.set(place.id, { reason: 'not-owner' });
      else if (isGone(intentOf(place), sent, found)) conflicts.set(place.id, { reason: 'intent-gone' });
      else if (unit.withoutQuota === true && found.hasQuota(place.namespace))
        conflicts.set(place.id, { reason: 'quota' });
      else if (back !== undefined) conflicts.set(place.id, { reason: 'host-back', host: back });
      else if (version && (partMoved || sharedMoved)) conflicts.set(place.id, { reason: 'version' });
    }
  }
  return { conflicts, moved };
}

/** A host that the place takes as lost, and is not any more; undefined: none. */
function backOf({ lostHosts }: Unit, { id }: Allocation, found: FoundRevisions): string | undefined {
  const isBack = ({ host, revision }: LostHost): boolean => found.eligibilityRevision(host) !== revision;
  return lostHosts?.get(id)?.find(isBack)?.host;
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

function recordConflicts(
  part: HostPart,
  sent: SentRevisions,
  found: FoundRevisions,
  conflicts: Map<string, ConflictReason>,
): void {
  for (const { victim, victimRevision, yields } of part.evictions) {
    if (found.allocationRevision(victim) !== victimRevision) conflicts.set(victim.id, { reason: 'changed' });
    else if (isGone(yields?.intent, sent, found)) conflicts.set(victim.id, { reason: 'intent-gone' });
  }
  for (const { allocation, revision, voidedAt, reverts } of part.releases) {
    const { id, namespace, job } = allocation;
    const intent = voidedAt === undefined ? undefined : intentOf(allocation);
    const isMarked = (one: Revert): boolean => found.allocationRevision(one.victim) === one.revision;
    if (reverts?.every(isMarked) === false) conflicts.set(id, { reason: 'changed' });
    else if (found.allocationRevision(allocation) !== revision) conflicts.set(id, { reason: 'changed' });
    else if (intent !== undefined) {
      if (found.intentRevision(intent) !== voidedAt) conflicts.set(id, { reason: 'changed' });
    } else if (found.ownerRevision(namespace, job) !== (sent.ownerRevision(namespace, job) ?? 0))
      conflicts.set(id, { reason: 'not-owner' });
  }
}
