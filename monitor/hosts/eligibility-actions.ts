import { Semaphore } from '../../src/runtime/wait/semaphore.ts';
import type { MonitorContext } from '../context.ts';
import type { Expected, EligibilityChange, EligibilityWriter } from './eligibility.ts';

export interface EligibilityActionsDeps extends Pick<MonitorContext, 'self' | 'log' | 'metrics'> {
  readonly eligibility: EligibilityWriter;
}

/**
 * So many writes at once. When a rack returns there are thousands to make: all together they would run out of their time at the
 * store, again and again, and the sessions of others with them.
 */
const WRITES_MAX = 32;

/** Eligibility changes without an operator: one at a time for a host; one that failed is repeated at the next check. */
export class EligibilityActions {
  readonly #deps: EligibilityActionsDeps;
  readonly #changing = new Set<string>();
  readonly #writes = new Semaphore(WRITES_MAX);

  constructor(deps: EligibilityActionsDeps) {
    this.#deps = deps;
  }

  /** How many hosts are being changed. */
  get underWay(): number {
    return this.#changing.size;
  }

  /** @param change without `by`: in the name of this monitor */
  set(
    host: string,
    change: Omit<EligibilityChange, 'by'> & { readonly by?: string },
    expected: Expected,
  ): void {
    const { state } = change;
    this.#begin(host, state, async (eligibility) => {
      await eligibility.set(host, { by: this.#deps.self, ...change }, expected);
      this.#deps.metrics.count('moorage_monitor_eligibility_changes_total', { state });
    });
  }

  /** As `EligibilityWriter.plan`. */
  plan(host: string, next: Parameters<EligibilityWriter['plan']>[1]): void {
    this.#begin(host, 'window', async (eligibility) => await eligibility.plan(host, next));
  }

  #begin(host: string, what: string, change: (eligibility: EligibilityWriter) => Promise<unknown>): void {
    if (this.#changing.has(host)) return;
    this.#changing.add(host);
    const { eligibility, log } = this.#deps;
    this.#writes
      .run(() => change(eligibility))
      .catch((error: unknown) =>
        log.warn({ host, what, error }, 'an eligibility could not be changed; it is tried again'),
      )
      .finally(() => this.#changing.delete(host));
  }
}
