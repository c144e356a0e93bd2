import type { Eligibility } from '../../src/core/host/host.ts';
import { LEAKS_MAX, leaksOf } from '../../src/core/host/host.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';
import { EligibilityActions } from './eligibility-actions.ts';
import type { EligibilityWriter } from './eligibility.ts';

/**
 * How long a host must have been closed by leaks before its allocations are moved, and clean before it is used again. A host
 * checks every minute, and one whose agent was restarted finds what is left only with its third check.
 */
export const SETTLED_MS = 300_000;
const CHECK_MS = 10_000;
/** More hosts than this share of the cell at once speak against how leaks are found, not against the hosts. */
const DRAINED_FRACTION = 0.1;
/** Marks a drain of this watch: a drain with another reason is an operator's, and is left alone. */
export const LEAK_REASON = 'leaking: moved away before it fails';

export interface LeakWatchDeps extends MonitorContext {
  readonly eligibility: EligibilityWriter;
}

/**
 * Drains hosts that have refused work for long because of what leaked on them, before they fail (S3.14), and makes them ready
 * when they have been clean for long. The drain has no deadline: what cannot be moved stays. Every monitor watches every
 * host; the one of rank 0 acts.
 */
export class LeakWatch {
  readonly #deps: LeakWatchDeps;
  /** Since when a host's leaks contradict its eligibility, on the monotonic clock. */
  readonly #since = new Map<string, number>();
  readonly #eligibility: EligibilityActions;
  readonly #stop: () => void;

  constructor(deps: LeakWatchDeps) {
    this.#deps = deps;
    this.#eligibility = new EligibilityActions(deps);
    this.#stop = every(deps.clock, CHECK_MS, () => this.check());
  }

  close(): void {
    this.#stop();
  }

  check(): void {
    const { copy, metrics } = this.#deps;
    let drained = 0;
    const leaking: string[] = [];
    for (const [host, { value }] of copy.hosts.rows()) {
      const known = copy.eligibility.get(host)?.value ?? null;
      const isDrained = known !== null && isOurs(known);
      const isClosed = leaksOf(value.attributes) > LEAKS_MAX;
      if (isDrained) drained += 1;
      if (isClosed === isDrained || (known !== null && !isDrained && known.state !== 'ready'))
        this.#since.delete(host);
      else if (!this.#hasSettled(host)) continue;
      else if (isClosed) leaking.push(host);
      else if (monitorRank(this.#deps, host) === 0)
        this.#eligibility.set(host, { state: 'ready', reason: 'clean again' }, isOurs);
    }
    for (const host of this.#since.keys()) if (copy.hosts.get(host) === undefined) this.#since.delete(host);
    const free = Math.max(0, Math.max(1, Math.floor(copy.hosts.size * DRAINED_FRACTION)) - drained);
    metrics.gauge('moorage_monitor_leak_drains_held_back', Math.max(0, leaking.length - free));
    // All monitors choose the same hosts, and each acts for those of which it has rank 0.
    for (const host of leaking.sort().slice(0, free))
      if (monitorRank(this.#deps, host) === 0)
        this.#eligibility.set(
          host,
          { state: 'draining', reason: LEAK_REASON },
          ({ state }) => state === 'ready',
        );
  }

  /** Has it been closed, or clean, in contradiction to its eligibility, for long enough? */
  #hasSettled(host: string): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    const sinceMs = this.#since.get(host) ?? nowMs;
    this.#since.set(host, sinceMs);
    return nowMs - sinceMs >= SETTLED_MS;
  }
}

function isOurs({ state, reason }: Eligibility): boolean {
  return state === 'draining' && reason === LEAK_REASON;
}
