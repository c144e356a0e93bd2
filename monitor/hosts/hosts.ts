/**
 * What is known of hosts, and which of them take new work.
 *
 * - `hosts.ts`: declares hosts lost, and ready again when they return; `mass-loss.ts` says when too many vanish at once
 * - `leak-watch.ts`: drains hosts on which too much leaked
 * - `eligibility.ts`: writes a change of eligibility; `eligibility-actions.ts` does so for the two watches
 * - `host-status.ts`: a host as people see it
 */
import type { Eligibility } from '../../src/core/host/host.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
import { SILENCE_MS } from '../../src/runtime/reports/reports.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';
import { suspectHosts } from './mass-loss.ts';
import { EligibilityActions } from './eligibility-actions.ts';
import type { EligibilityWriter } from './eligibility.ts';

/** From the end of a host's session in the store until it is declared lost: time for a restart or a short cut. */
export const LOST_AFTER_MS = 30_000;
const CHECK_MS = 1_000;
const isLost = ({ state }: Eligibility): boolean => state === 'lost';
const isNotLost = (known: Eligibility): boolean => !isLost(known);

export interface HostWatchDeps extends MonitorContext {
  readonly view: CellView;
  readonly eligibility: EligibilityWriter;
  readonly lostAfterMs: number;
  /** Called when declarations begin to be held back (how many hosts), and with 0 when they no longer are. */
  onHeldBack(hosts: number): void;
}

/**
 * A host is lost when its session in the store has been gone for the recovery delay and its report stream has been silent for
 * three beats as well: two independent signs, never one missed report (I18). The declaration is itself a commit, and records
 * for how long the session had been gone, so that replacements under `disconnect.stopAfter` need no clock that can be set.
 *
 * Every monitor watches every host; the one of rank 0 acts, the next a little later, and should two act, the compare lets one
 * through. See docs/decisions/host-eligibility.md.
 */
export class HostWatch {
  readonly #deps: HostWatchDeps;
  /** Since when each host's session is gone, on the monotonic clock. */
  readonly #missing = new Map<string, number>();
  readonly #eligibility: EligibilityActions;
  readonly #stop: () => void;
  #heldBack = 0;

  constructor(deps: HostWatchDeps) {
    this.#deps = deps;
    this.#eligibility = new EligibilityActions(deps);
    this.#stop = every(deps.clock, CHECK_MS, () => this.check());
  }

  close(): void {
    this.#stop();
  }

  /** Checks all hosts, and declares those lost whose delay is over. */
  check(): void {
    this.#findMissing();
    this.#readmit();
    const suspects = this.#suspects();
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [host, sinceMs] of this.#missing) {
      const dueMs = sinceMs + this.#deps.lostAfterMs + monitorRank(this.#deps, host) * CHECK_MS * 2;
      if (nowMs < dueMs || suspects.has(host) || !this.#isSilent(host) || this.#isLost(host)) continue;
      const silentMs = Math.round(nowMs - sinceMs);
      this.#eligibility.set(host, { state: 'lost', reason: 'no session and no report', silentMs }, isNotLost);
    }
  }

  #findMissing(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [host] of this.#deps.copy.hosts.rows()) {
      if (this.#deps.copy.alive.get(host) !== undefined) this.#missing.delete(host);
      else if (!this.#missing.has(host)) this.#missing.set(host, nowMs);
    }
    for (const host of [...this.#missing.keys()])
      if (this.#deps.copy.hosts.get(host) === undefined) this.#missing.delete(host);
  }

  /** Hosts that vanished together, but for those that were lost before. */
  #suspects(): ReadonlySet<string> {
    const fresh = new Map([...this.#missing].filter(([host]) => !this.#isLost(host)));
    const suspects = suspectHosts(fresh, this.#deps.copy.hosts.size);
    if ((suspects.size === 0) !== (this.#heldBack === 0)) {
      if (suspects.size > 0)
        this.#deps.log.warn(
          { hosts: suspects.size },
          'too many hosts vanished at once: none of them is declared lost',
        );
      this.#deps.onHeldBack(suspects.size);
    }
    this.#heldBack = suspects.size;
    this.#deps.metrics.gauge('moorage_monitor_lost_hosts_held_back', suspects.size);
    return suspects;
  }

  #readmit(): void {
    for (const [host, { value }] of this.#deps.copy.eligibility.rows()) {
      if (value.state !== 'lost' || this.#missing.has(host)) continue;
      if (isReporting(this.#deps.view, host) && monitorRank(this.#deps, host) === 0)
        this.#eligibility.set(host, { state: 'ready', reason: 'it is back' }, isLost);
    }
  }

  #isSilent(host: string): boolean {
    const freshness = this.#deps.view.host(host);
    if (freshness?.staleSinceMs == null) return false;
    return this.#deps.clock.nowMs() - freshness.staleSinceMs >= SILENCE_MS;
  }

  #isLost(host: string): boolean {
    return this.#deps.copy.eligibility.get(host)?.value.state === 'lost';
  }
}
