import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Band, Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';
import type { OwnEntry } from '../state/job-table.ts';
import type { Term } from '../state/state.ts';
import { isKept } from './victim-reader.ts';

export interface OwnVictimsParts {
  /** This scheduler's allocations on the host. */
  readonly ownOn: (host: string) => Iterable<OwnEntry>;
  /** Does the host report now? */
  readonly isReporting: (host: string) => boolean;
}

/** A victim with its revision, as this scheduler knows it without a question. */
export interface KnownVictim {
  readonly victim: Allocation;
  readonly victimRevision: number;
}

/**
 * Victims that need no question, neither to their host nor to the store: where a scheduler's own allocations add up to all that
 * the host's ledger holds below a precedence, nobody else has any there. The commit compares the ledger and each victim's
 * record, so what is outdated here is refused there.
 */
export class OwnVictims {
  readonly #term: Pick<Term, 'cell' | 'pauses'>;
  readonly #parts: OwnVictimsParts;

  constructor(term: Pick<Term, 'cell' | 'pauses'>, parts: OwnVictimsParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** @returns the possible victims on the host; null: others may have some there, or what is known is not settled */
  on(host: string, { ask, precedence }: PlacementRequest): readonly KnownVictim[] | null {
    // Ledgers do not say who holds a port or a device.
    if (ask.gpu !== null || Object.keys(ask.ports).length > 0 || !this.#parts.isReporting(host)) return null;
    const found: KnownVictim[] = [];
    let own: Ledger = EMPTY_LEDGER;
    for (const { job, entry } of this.#parts.ownOn(host)) {
      const { allocation, revision, report } = entry;
      // What is not committed yet, and what gives way already, is not in the ledger.
      if (allocation.precedence >= precedence || revision === 0) continue;
      if (job.stale || allocation.intent !== undefined || allocation.yields !== undefined) return null;
      if (allocation.desired === 'evict') continue;
      own = withClaim(own, allocation);
      const isChanging = allocation.desired !== 'run' || entry.marking || entry.releasing;
      const runs = report !== null && OBSERVED_RANK[report.state] < OBSERVED_RANK.stopping;
      if (runs && !isChanging && !isKept(this.#term, allocation))
        found.push({ victim: allocation, victimRevision: revision });
    }
    return isAllBelow(precedence, own, this.#term.cell.book.get(host).ledger) ? found : null;
  }
}

/** @param own all of it is below the precedence */
function isAllBelow(precedence: number, own: Ledger, whole: Ledger): boolean {
  const below = whole.bands.filter((band) => band.precedence < precedence);
  return below.length === own.bands.length && below.every((band, at) => isSameBand(band, own.bands[at]!));
}

function isSameBand(a: Band, b: Band): boolean {
  if (a.precedence !== b.precedence || a.cpuMilli !== b.cpuMilli || a.memoryMib !== b.memoryMib) return false;
  if (a.diskMib !== b.diskMib) return false;
  const names = new Set([...Object.keys(a.scalars), ...Object.keys(b.scalars)]);
  return [...names].every((name) => (a.scalars[name] ?? 0) === (b.scalars[name] ?? 0));
}
