import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Intent } from '../../src/core/cell/intent.ts';
import type { Release } from '../../src/core/commit/plan.ts';
import { sweepIntent } from '../../src/runtime/commit/gang-intent.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';

export interface IntentSweeperDeps extends MonitorContext {
  /** Commits releases, each at the revision it names. */
  release(releases: readonly Release[]): Promise<unknown>;
}

/** The intent's scheduler no longer owns the job: longer than a watch lags, or than a session takes to be renewed. */
const ORPHAN_MS = 5_000;

/**
 * Ends intents of gangs that are open for longer than their time, since their owner is stuck, and soon those whose owner is
 * gone: what they reserve would be lost to the cell. The job's next owner does so too, before anything else; several at once
 * do no harm. An intent's time counts on each monitor's own clock from when it first saw it, so that clocks that differ end
 * no gang early.
 */
export class IntentSweeper {
  readonly #deps: IntentSweeperDeps;
  readonly #firstSeenMs = new Map<string, number>();
  readonly #orphanSinceMs = new Map<string, number>();
  readonly #stop = new AbortController();

  constructor(deps: IntentSweeperDeps) {
    this.#deps = deps;
  }

  close(): void {
    this.#stop.abort();
  }

  /** Checks all intents: there are few, each a gang under way. Never rejects. */
  async sweep(): Promise<void> {
    const { copy, clock, log, metrics } = this.#deps;
    for (const known of [this.#firstSeenMs, this.#orphanSinceMs])
      for (const name of known.keys()) if (!copy.intents.has(name)) known.delete(name);
    for (const [name, { value: intent }] of [...copy.intents.rows()]) {
      const nowMs = clock.monotonicMs();
      const seenMs = this.#firstSeenMs.get(name) ?? nowMs;
      this.#firstSeenMs.set(name, seenMs);
      const isOver = nowMs - seenMs >= intent.ttlMs || this.#orphanedForMs(name, intent, nowMs) >= ORPHAN_MS;
      if (!isOver || monitorRank(this.#deps, name) !== 0) continue;
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
