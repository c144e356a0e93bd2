import type { Conflicts } from '../../core/commit/conflicts.ts';
import { idsOf } from '../../core/commit/commit.ts';
import { prune } from '../../core/commit/conflicts.ts';
import type { PendingUnit } from './open-plan.ts';

/** Counts of claims (places) by how they ended, and of transactions. */
export interface CommitterStats {
  readonly committed: number;
  readonly rebased: number;
  readonly conflicted: number;
  readonly transactions: number;
  readonly refused: number;
  readonly unknownResolved: number;
}

export class CommitTally {
  readonly #stats = {
    committed: 0,
    rebased: 0,
    conflicted: 0,
    transactions: 0,
    refused: 0,
    unknownResolved: 0,
  };

  get stats(): CommitterStats {
    return { ...this.#stats };
  }

  count(what: 'transactions' | 'refused' | 'unknownResolved'): void {
    this.#stats[what] += 1;
  }

  /** Settles what cannot be committed. @returns whether anything of the unit is left to try */
  refuse(pending: PendingUnit, conflicts: Conflicts): boolean {
    const { rest, refused } = prune(pending.unit, conflicts);
    if (refused.size === 0) return true;
    for (const part of pending.unit.parts) {
      for (const place of part.places) if (refused.has(place.id)) this.#stats.conflicted += 1;
      const race = pending.raceFor(part.host);
      for (const id of idsOf({ ...pending.unit, parts: [part] })) {
        const why = refused.get(id);
        if (why !== undefined) pending.open.settle(id, { kind: 'conflicted', why, ...race });
      }
    }
    if (rest === null) return false;
    pending.unit = rest;
    return true;
  }

  /** Settles all of the unit, which is in the store since the revision. */
  landed(pending: PendingUnit, revision: number): void {
    const kind = pending.rebased ? 'rebased' : 'committed';
    for (const part of pending.unit.parts) {
      const outcome = { kind, revision, ...pending.raceFor(part.host) } as const;
      this.#stats[kind] += part.places.length;
      for (const place of part.places) pending.open.settle(place.id, outcome);
      for (const { victim } of part.evictions) pending.open.settle(victim.id, outcome);
      for (const { allocation } of part.releases) pending.open.settle(allocation.id, outcome);
    }
  }
}
