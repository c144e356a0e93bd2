import { drainedBy, windowStep } from '../../src/core/host/drain-window.ts';
import type { Eligibility } from '../../src/core/host/host.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';
import { EligibilityActions } from './eligibility-actions.ts';
import type { EligibilityWriter } from './eligibility.ts';

const CHECK_MS = 1_000;

export interface DrainWindowsDeps extends MonitorContext {
  readonly eligibility: EligibilityWriter;
}

/**
 * Begins and ends the drains that operators have planned. The plan lies in the store, in the host's eligibility, and so outlives
 * every role: what became due while no monitor lived is done when one does. Every monitor watches every host; the one of rank
 * 0 acts, the next a little later, and should two act, the compare lets one through.
 */
export class DrainWindows {
  readonly #deps: DrainWindowsDeps;
  readonly #eligibility: EligibilityActions;
  readonly #stop: () => void;

  constructor(deps: DrainWindowsDeps) {
    this.#deps = deps;
    this.#eligibility = new EligibilityActions(deps);
    this.#stop = every(deps.clock, CHECK_MS, () => this.check());
  }

  close(): void {
    this.#stop();
  }

  check(): void {
    const { copy, clock } = this.#deps;
    for (const [host, { value }] of copy.eligibility.rows()) {
      if (value.window === undefined) continue;
      const nowMs = Math.round(clock.nowMs());
      const lagMs = monitorRank(this.#deps, host) * CHECK_MS * 2;
      if (windowStep(value, nowMs - lagMs) !== null) this.#step(host, value, nowMs);
    }
  }

  #step(host: string, seen: Eligibility, nowMs: number): void {
    const { window } = seen;
    const step = windowStep(seen, nowMs);
    if (window === undefined || step === null) return;
    const isSame = (known: Eligibility): boolean =>
      canonicalJson(known.window ?? null) === canonicalJson(window) && windowStep(known, nowMs) === step;
    if (step === 'begin') this.#eligibility.set(host, drainedBy(window, nowMs), isSame);
    else if (step === 'end')
      this.#eligibility.set(host, { state: 'ready', reason: 'its drain is over', window: null }, isSame);
    else this.#eligibility.plan(host, (known) => (isSame(known) ? null : undefined));
  }
}
