import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Host } from '../../src/core/host/host.ts';
import { pausedBy } from '../../src/core/quota/pauses.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { CellPauses } from '../../src/runtime/records/pauses.ts';

/** What holds back restarts of tasks on this host. */
export interface HeldRestarts {
  /** @returns why nothing of the allocation is started again now, for people; null: it is */
  /** @param endedForMs since its task ended */
  whyHeld(
    allocation: Pick<Allocation, 'namespace' | 'job' | 'jobVersion'>,
    endedForMs: number,
  ): string | null;
}

/** So long after its start an agent waits for the store's word; without it hosts go on by themselves (rule 6). */
export const FIRST_WORD_MS = 5_000;

/**
 * Operators' pauses of restarts, as the agents of this process hear them from the store. While the store is away, the last
 * word stands; an agent that starts meanwhile knows of none.
 */
export class HostPauses {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #sinceMs: number;
  #pauses: CellPauses | null = null;
  #isKnown = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
    this.#sinceMs = clock.monotonicMs();
  }

  /** @param onChange called when restarts were paused, or go on */
  follow(store: CellStore, keys: CellKeys, onChange: () => void): void {
    this.#pauses = new CellPauses({ store, keys, log: this.#log }, ({ what }) => {
      if (what === 'restarts') onChange();
    });
    const known = (): void => {
      this.#isKnown = true;
      onChange();
    };
    // Closed before the store has answered: then nobody waits for it.
    this.#pauses.ready.then(known, () => undefined);
  }

  /** @param host as it is now; undefined: it is not known yet */
  of(host: () => Host | undefined): HeldRestarts {
    return {
      whyHeld: ({ namespace, job, jobVersion }, endedForMs) => {
        if (!this.#isKnown && this.#clock.monotonicMs() - this.#sinceMs < FIRST_WORD_MS)
          return 'the agent has just begun';
        const pause =
          this.#pauses?.onHost('restarts', host(), { namespace, job, version: jobVersion }) ?? null;
        if (pause?.everyMs !== undefined && endedForMs >= pause.everyMs) return null;
        return pause === null ? null : `restarts are ${pausedBy(pause)}`;
      },
    };
  }

  close(): void {
    this.#pauses?.close();
  }
}
