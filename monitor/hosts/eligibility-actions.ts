import type { MonitorContext } from '../context.ts';
import type { Expected, EligibilityChange, EligibilityWriter } from './eligibility.ts';

export interface EligibilityActionsDeps extends Pick<MonitorContext, 'self' | 'log' | 'metrics'> {
  readonly eligibility: EligibilityWriter;
}

/** Eligibility changes without an operator: one at a time for a host; one that failed is repeated at the next check. */
export class EligibilityActions {
  readonly #deps: EligibilityActionsDeps;
  readonly #changing = new Set<string>();

  constructor(deps: EligibilityActionsDeps) {
    this.#deps = deps;
  }

  set(host: string, change: Omit<EligibilityChange, 'by'>, expected: Expected): void {
    if (this.#changing.has(host)) return;
    this.#changing.add(host);
    const { eligibility, log, metrics, self } = this.#deps;
    const { state } = change;
    eligibility
      .set(host, { ...change, by: self }, expected)
      .then(
        () => metrics.count('moorage_monitor_eligibility_changes_total', { state }),
        (error: unknown) =>
          log.warn({ host, state, error }, 'an eligibility could not be changed; it is tried again'),
      )
      .finally(() => this.#changing.delete(host));
  }
}
