import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { Expected, EligibilityChange, EligibilityWriter } from './eligibility.ts';

export interface OwnVerdictsDeps {
  readonly self: string;
  readonly eligibility: EligibilityWriter;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Verdicts that a monitor gives of its own accord, look after look: one at a time for a host, and a failed one is no news. */
export class EligibilityActions {
  readonly #deps: OwnVerdictsDeps;
  readonly #acting = new Set<string>();

  constructor(deps: OwnVerdictsDeps) {
    this.#deps = deps;
  }

  set(host: string, verdict: Omit<EligibilityChange, 'by'>, expected: Expected): void {
    if (this.#acting.has(host)) return;
    this.#acting.add(host);
    const { eligibility, log, metrics, self } = this.#deps;
    const { state } = verdict;
    eligibility
      .set(host, { ...verdict, by: self }, expected)
      .then(
        () => metrics.count('moorage_monitor_verdicts_total', { state }),
        (error: unknown) =>
          log.warn({ host, state, error }, 'a verdict could not be given; it is tried again'),
      )
      .finally(() => this.#acting.delete(host));
  }
}
