import type { Eligibility } from '../../src/core/host/host.ts';
import { rendezvousScore } from '../../src/core/cell/ownership.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { SILENCE_MS } from '../../src/runtime/reports/reports.ts';
import type { CellCopy } from '../view/view.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { suspectHosts } from './mass-loss.ts';
import { EligibilityActions } from './eligibility-actions.ts';
import type { EligibilityWriter } from './eligibility.ts';

/** From the end of a host's session in the store to the verdict: time to come back from a restart or a short cut. */
export const LOST_AFTER_MS = 30_000;
const LOOK_MS = 1_000;
const isLost = ({ state }: Eligibility): boolean => state === 'lost';
const isNotLost = (known: Eligibility): boolean => !isLost(known);

export interface HostWatchDeps {
  readonly self: string;
  readonly copy: CellCopy;
  readonly view: CellView;
  readonly eligibility: EligibilityWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly lostAfterMs: number;
  /** Told once when verdicts are held back, and once when they no longer are. */
  onHeldBack(hosts: number): void;
}

/**
 * Declares hosts lost, and takes them back when they return.
 *
 * Lost is a host whose session in the store has been gone for the recovery delay and whose report stream has been silent
 * for three beats as well: two ways of not hearing, never one missed report (I18). The verdict is itself a commit. Every
 * monitor watches every host; the one that rendezvous hashing names acts, the next in line a little later, and should two
 * act, the compare lets one through.
 */
export class HostWatch {
  readonly #deps: HostWatchDeps;
  /** Since when each host's session is gone, on our monotonic clock. */
  readonly #missing = new Map<string, number>();
  readonly #verdicts: EligibilityActions;
  readonly #stop: () => void;
  #heldBack = 0;

  constructor(deps: HostWatchDeps) {
    this.#deps = deps;
    this.#verdicts = new EligibilityActions(deps);
    this.#stop = every(deps.clock, LOOK_MS, () => this.look());
  }

  close(): void {
    this.#stop();
  }

  /** Looks at all hosts and gives the verdicts that are due. */
  look(): void {
    this.#noteMissing();
    this.#takeBack();
    const suspects = this.#suspects();
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [host, sinceMs] of this.#missing) {
      const dueMs = sinceMs + this.#deps.lostAfterMs + this.#turn(host) * LOOK_MS * 2;
      if (nowMs < dueMs || suspects.has(host) || !this.#isSilent(host) || this.#isLost(host)) continue;
      const silentMs = Math.round(nowMs - sinceMs);
      this.#verdicts.set(host, { state: 'lost', reason: 'no session and no report', silentMs }, isNotLost);
    }
  }

  #noteMissing(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [host] of this.#deps.copy.hosts.rows()) {
      if (this.#deps.copy.alive.get(host) !== undefined) this.#missing.delete(host);
      else if (!this.#missing.has(host)) this.#missing.set(host, nowMs);
    }
    for (const host of [...this.#missing.keys()])
      if (this.#deps.copy.hosts.get(host) === undefined) this.#missing.delete(host);
  }

  /** Hosts that vanished in a crowd, less those that were lost before. */
  #suspects(): ReadonlySet<string> {
    const fresh = new Map([...this.#missing].filter(([host]) => !this.#isLost(host)));
    const suspects = suspectHosts(fresh, this.#deps.copy.hosts.size);
    if ((suspects.size === 0) !== (this.#heldBack === 0)) {
      if (suspects.size > 0)
        this.#deps.log.warn({ hosts: suspects.size }, 'too many hosts vanished at once: no verdicts on them');
      this.#deps.onHeldBack(suspects.size);
    }
    this.#heldBack = suspects.size;
    this.#deps.metrics.gauge('moorage_monitor_verdicts_held_back', suspects.size);
    return suspects;
  }

  #takeBack(): void {
    for (const [host, { value }] of this.#deps.copy.eligibility.rows()) {
      if (value.state !== 'lost' || this.#missing.has(host)) continue;
      const sight = this.#deps.view.host(host);
      const heard = sight !== undefined && sight.asOfMs !== null && sight.staleSinceMs === null;
      if (heard && this.#turn(host) === 0)
        this.#verdicts.set(host, { state: 'ready', reason: 'it is back' }, isLost);
    }
  }

  #isSilent(host: string): boolean {
    const sight = this.#deps.view.host(host);
    if (sight?.staleSinceMs == null) return false;
    return this.#deps.clock.nowMs() - sight.staleSinceMs >= SILENCE_MS;
  }

  #isLost(host: string): boolean {
    return this.#deps.copy.eligibility.get(host)?.value.state === 'lost';
  }

  /** This monitor's place in line for the host. */
  #turn(host: string): number {
    return monitorRank(this.#deps.copy, this.#deps.self, host);
  }
}

/** Place of `self` among the living monitors for something: 0 acts first. */
export function monitorRank(copy: CellCopy, self: string, what: string): number {
  const own = rendezvousScore(what, self);
  let before = 0;
  for (const [, { value }] of copy.roles.rows()) {
    if (value.kind !== 'monitor' || value.id === self) continue;
    const score = rendezvousScore(what, value.id);
    if (score > own || (score === own && value.id < self)) before += 1;
  }
  return before;
}
