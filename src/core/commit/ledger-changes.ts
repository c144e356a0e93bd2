import type { Allocation, Outcome } from '../cell/allocation.ts';
import type { VolumeUse } from '../cell/volume.ts';
import type { HolderEnd } from '../quota/volume-claims.ts';
import { GIVEN_UP } from '../slots/given-up.ts';
import type { Claim } from '../cell/claim.ts';
import { evictedBy, retainedBy } from './pending-preemption.ts';
import type { Ledger } from '../fit/ledger.ts';
import { holdsUse, withClaim, withoutClaim, withoutPorts, withoutUse } from '../fit/ledger.ts';
import type { Eviction, Release, Revert } from './plan.ts';
import { NO_PORTS } from '../fit/port-choice.ts';

/**
 * What releases, evictions and reverts do to the ledger of their host. All return null when the ledger does not hold what
 * would be freed: it is old, or another scheduler was faster.
 *
 *     runs ──evicted──► marked: holds its ports, and what a gang's members leave of its use ──released──► nothing
 *       ▲                   │
 *       └─────reverted──────┘
 */

/** The allocation is gone. */
export function afterRelease(ledger: Ledger, allocation: Allocation): Ledger | null {
  if (!holdsPorts(ledger, allocation)) return null;
  if (allocation.desired === 'evict') {
    const rest = withoutKept(ledger, allocation);
    return rest === null ? null : withoutPorts(rest, allocation);
  }
  return holdsUse(ledger, allocation) ? withoutClaim(ledger, allocation) : null;
}

/** It was given up with its host, which is back: what it holds there is free when the host says so. */
export function isUntimely({ outcome }: Release, { state }: Ledger): boolean {
  return outcome?.reason === GIVEN_UP && state !== 'lost';
}

/** The victim is evicted. */
export function afterEviction(ledger: Ledger, eviction: Eviction): Ledger | null {
  if (!holdsUse(ledger, eviction.victim)) return null;
  const rest = withoutUse(ledger, eviction.victim);
  const kept = retainedBy(evictedBy(eviction));
  return kept === null ? rest : withClaim(rest, kept);
}

/** The victim is as before; its ports never left the ledger. */
export function afterRevert(ledger: Ledger, { victim }: Revert): Ledger | null {
  const rest = withoutKept(ledger, victim);
  return rest === null ? null : withClaim(rest, { ...victim, ports: NO_PORTS });
}

function withoutKept(ledger: Ledger, allocation: Allocation): Ledger | null {
  const kept = retainedBy(allocation);
  if (kept === null) return ledger;
  return holdsUse(ledger, kept) ? withoutUse(ledger, kept) : null;
}

function holdsPorts(ledger: Ledger, claim: Claim): boolean {
  for (const label in claim.ports) if (!ledger.ports.includes(claim.ports[label] as number)) return false;
  return true;
}

/** How the allocation that is released leaves a volume that it had. Data begins with its first holder alone. */
export function holderEndOf(release: Release, use: VolumeUse): HolderEnd {
  const { allocation, outcome, isFenced } = release;
  if (use.driver === undefined) {
    const began = use.id !== allocation.id || mayHaveBegun(release);
    return began ? 'ended' : 'never-ran';
  }
  if (isFenced === true) return 'fenced';
  if (outcome === null) return allocation.desired === 'remove' ? 'ended' : 'never-ran';
  if (outcome.reason === GIVEN_UP) return 'given-up';
  return isUnstarted(outcome) ? 'never-ran' : 'ended';
}

/** Did it run, as far as anybody can know? */
function mayHaveBegun({ allocation, outcome }: Release): boolean {
  if (outcome === null) return allocation.desired === 'remove';
  return outcome.startedAtMs !== undefined || outcome.state === 'lost' || outcome.exit?.lost !== undefined;
}

/** No task of it got as far as a process: what they asked of their host could not be made ready, or a stop came first. */
function isUnstarted({ startedAtMs, state, exit = {} }: Outcome): boolean {
  if (startedAtMs !== undefined || state === 'lost' || exit.code !== undefined || exit.signal !== undefined)
    return false;
  return exit.lost === undefined || NOT_BEGUN.has(exit.lost);
}

/** Ends of attempts that were refused or fenced before any process was there. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['not-run', 'never-started']);
