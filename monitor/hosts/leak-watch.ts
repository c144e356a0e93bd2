import type { Eligibility } from '../../src/core/host/host.ts';
import { LEAKS_MAX, leaksOf } from '../../src/core/host/host.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { CellCopy } from '../view/view.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { monitorRank } from './hosts.ts';
import { EligibilityActions } from './eligibility-actions.ts';
import type { EligibilityWriter } from './eligibility.ts';

/**
 * How long a host must have been closed by leaks before what runs there is moved, and clean before it is used again. A host
 * looks every minute, and one whose agent was restarted finds what is left only with its third look.
 */
export const SETTLED_MS = 300_000;
const LOOK_MS = 10_000;
/** More hosts than this share of the cell at once speak against how leaks are found, not against the hosts. */
const DRAINED_FRACTION = 0.1;
/** Of a drain that is ours: an operator's has another one, and is left alone. */
export const LEAK_REASON = 'leaking: moved away before it fails';

export interface LeakWatchDeps {
  readonly self: string;
  readonly copy: CellCopy;
  readonly eligibility: EligibilityWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * Drains hosts that have refused work for long because of what leaked on them, before they fail (S3.14), and takes them
 * back when they have been clean for long. The drain has no deadline: what cannot be moved stays. Every monitor watches
 * every host; the one that rendezvous hashing names acts.
 */
export class LeakWatch {
  readonly #deps: LeakWatchDeps;
  /** Since when hosts say something else than their verdict, on our monotonic clock. */
  readonly #since = new Map<string, number>();
  readonly #verdicts: EligibilityActions;
  readonly #stop: () => void;

  constructor(deps: LeakWatchDeps) {
    this.#deps = deps;
    this.#verdicts = new EligibilityActions(deps);
    this.#stop = every(deps.clock, LOOK_MS, () => this.look());
  }

  close(): void {
    this.#stop();
  }

  look(): void {
    const { copy, metrics } = this.#deps;
    let drained = 0;
    const due: string[] = [];
    for (const [host, { value }] of copy.hosts.rows()) {
      const verdict = copy.eligibility.get(host)?.value ?? null;
      const isDrained = verdict !== null && isOurs(verdict);
      const isClosed = leaksOf(value.attributes) > LEAKS_MAX;
      if (isDrained) drained += 1;
      if (isClosed === isDrained || (verdict !== null && !isDrained && verdict.state !== 'ready'))
        this.#since.delete(host);
      else if (!this.#hasSettled(host)) continue;
      else if (isClosed) due.push(host);
      else if (this.#isMyTurn(host))
        this.#verdicts.set(host, { state: 'ready', reason: 'clean again' }, isOurs);
    }
    for (const host of this.#since.keys()) if (copy.hosts.get(host) === undefined) this.#since.delete(host);
    const room = Math.max(0, Math.max(1, Math.floor(copy.hosts.size * DRAINED_FRACTION)) - drained);
    metrics.gauge('moorage_monitor_leak_drains_held_back', Math.max(0, due.length - room));
    // All monitors choose the same ones, and each acts for those whose turn is its own.
    for (const host of due.sort().slice(0, room))
      if (this.#isMyTurn(host))
        this.#verdicts.set(
          host,
          { state: 'draining', reason: LEAK_REASON },
          ({ state }) => state === 'ready',
        );
  }

  #isMyTurn(host: string): boolean {
    return monitorRank(this.#deps.copy, this.#deps.self, host) === 0;
  }

  /** Has it been closed, or clean, against what its verdict says, for long enough to be believed? */
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
