import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Intent } from '../../src/core/cell/intent.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Release } from '../../src/core/commit/plan.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import { sweepIntent } from '../../src/runtime/commit/gang-intent.ts';
import type { CellCopy } from '../view/view.ts';
import { monitorRank } from '../hosts/hosts.ts';

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

/** Nobody who could bring it to its end owns the job: longer than what a watch may lag, or a session takes to be renewed. */
const ORPHAN_MS = 5_000;

/**
 * Ends gangs' intents that lie there for longer than they may, as their owner is stuck, and soon those whose owner is gone:
 * what they reserve would be lost to the cell. A successor does so too, before anything else; several at once do no harm.
 * How long is told by the own clock from the first sight of it, so that
 * clocks that differ end nobody's gang too early.
 */
export class IntentSweeper {
  readonly #deps: IntentSweeperDeps;
  readonly #firstSeenMs = new Map<string, number>();
  /** Since when their owner is seen to be gone. */
  readonly #orphanSinceMs = new Map<string, number>();
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
    for (const known of [this.#firstSeenMs, this.#orphanSinceMs])
      for (const name of known.keys()) if (!copy.intents.has(name)) known.delete(name);
    for (const [name, { value: intent }] of [...copy.intents.rows()]) {
      const nowMs = clock.monotonicMs();
      const seenMs = this.#firstSeenMs.get(name) ?? nowMs;
      this.#firstSeenMs.set(name, seenMs);
      const isOver = nowMs - seenMs >= intent.ttlMs || this.#orphanedForMs(name, intent, nowMs) >= ORPHAN_MS;
      if (!isOver || monitorRank(copy, self, name) !== 0) continue;
      try {
        await sweepIntent(this.#deps, intent, (releases) => this.#deps.release(releases), this.#stop.signal);
        metrics.count('moorage_monitor_reaped_total', { what: 'intent' });
      } catch (error) {
        log.debug({ intent: name, error }, 'an intent could not be ended; it is tried again');
      }
    }
  }

  /** 0 while the scheduler that wrote it owns the job. */
  #orphanedForMs(name: string, { namespace, job, scheduler }: Intent, nowMs: number): number {
    const owner = this.#deps.copy.owners.get(jobKeyOf(namespace, job))?.value;
    if (owner?.scheduler === scheduler) {
      this.#orphanSinceMs.delete(name);
      return 0;
    }
    const sinceMs = this.#orphanSinceMs.get(name) ?? nowMs;
    this.#orphanSinceMs.set(name, sinceMs);
    return nowMs - sinceMs;
  }
}
