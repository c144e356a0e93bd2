import type { CellKeys } from '../src/core/keys.ts';
import type { Release } from '../src/core/plan.ts';
import type { CellStore } from '../src/ports/cell-store.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Random } from '../src/ports/random.ts';
import type { Log, Metrics } from '../src/ports/telemetry.ts';
import { sweepIntent } from '../src/runtime/gang-intent.ts';
import type { CellCopy } from './cell-copy.ts';
import { turnOf } from './host-watch.ts';

export interface IntentSweeperDeps {
  readonly self: string;
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly copy: CellCopy;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Commits releases, each at the revision it names. */
  release(releases: readonly Release[]): Promise<unknown>;
}

/**
 * Ends gangs' intents that lie there for longer than they may: their owner is stuck, or nobody owns the job any more, and
 * what they reserve would be lost to the cell. How long is told by the own clock from the first sight of it, so that
 * clocks that differ end nobody's gang too early.
 */
export class IntentSweeper {
  readonly #deps: IntentSweeperDeps;
  readonly #firstSeenMs = new Map<string, number>();
  readonly #stop = new AbortController();

  constructor(deps: IntentSweeperDeps) {
    this.#deps = deps;
  }

  close(): void {
    this.#stop.abort();
  }

  /** Looks at all of them: there are few, each is a gang on its way. Never rejects. */
  async sweep(): Promise<void> {
    const { copy, clock, log, metrics, self } = this.#deps;
    for (const name of this.#firstSeenMs.keys()) if (!copy.intents.has(name)) this.#firstSeenMs.delete(name);
    for (const [name, { value: intent }] of [...copy.intents.rows()]) {
      const nowMs = clock.monotonicMs();
      const seenMs = this.#firstSeenMs.get(name) ?? nowMs;
      this.#firstSeenMs.set(name, seenMs);
      if (nowMs - seenMs < intent.ttlMs || turnOf(copy, self, name) !== 0) continue;
      try {
        await sweepIntent(this.#deps, intent, (releases) => this.#deps.release(releases), this.#stop.signal);
        metrics.count('moorage_monitor_reaped_total', { what: 'intent' });
      } catch (error) {
        log.debug({ intent: name, error }, 'an intent could not be ended; it is tried again');
      }
    }
  }
}
