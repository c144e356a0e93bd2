/**
 * What is known of hosts, and which of them take new work.
 *
 * - `hosts.ts`: declares hosts lost, and ready again when they return; `mass-loss.ts` slows that when too many vanish at once
 * - `fencing.ts`: asks the fences of lost hosts for what is to be replaced
 * - `removed-hosts.ts`: deletes the records of hosts that an operator removed
 * - `leak-watch.ts`: drains hosts on which too much leaked; `drain-windows.ts`: begins and ends planned drains
 * - `eligibility.ts`: writes a change of eligibility; `eligibility-actions.ts` does so for the three watches
 * - `host-status.ts`: a host as people see it; `silent-hosts.ts`: what a job waits for on hosts that do not report
 */
import { drainedBy, isInWindow } from '../../src/core/host/drain-window.ts';
import type { Eligibility } from '../../src/core/host/host.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
import { SILENCE_MS } from '../../src/runtime/reports/beat-interval.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';
import type { Fate } from './mass-loss.ts';
import { MASS_LOSS_INTERVAL_MS, MASS_LOSS_WAIT_FACTOR, MassLoss } from './mass-loss.ts';
import { EligibilityActions } from './eligibility-actions.ts';
import type { EligibilityWriter } from './eligibility.ts';

/**
 * From the end of a host's session in the store until it is declared lost: time for a restart or a short cut. With the 10 s of the
 * session, what it held runs elsewhere within 30 s.
 */
export const LOST_AFTER_MS = 18_000;
const CHECK_MS = 1_000;
/** Written at once; the others are at the next check. Thousands would leave nobody else a turn, here and at the store. */
const VERDICTS_MAX = 256;
/** By rendezvous hashing: which monitor paces the verdicts on a crowd. */
const CROWD_KEY = 'mass-loss';
const isLost = ({ state }: Eligibility): boolean => state === 'lost';
const isNotLost = (known: Eligibility): boolean => !isLost(known);

export interface HostWatchDeps extends MonitorContext {
  readonly view: CellView;
  readonly eligibility: EligibilityWriter;
  readonly lostAfterMs: number;
  /** Of hosts that vanished together: the first of them is lost after this. Default: three times `lostAfterMs`. */
  readonly massLossWaitMs?: number;
  /** Called when declarations begin to be held back (how many hosts), and with 0 when they no longer are. */
  onHeldBack(hosts: number): void;
}

/** A verdict that is to come, unless the host returns. */
export interface ComingVerdict {
  /** Since when its session is gone, and when it is declared lost, on the wall clock. */
  readonly sinceMs: number;
  readonly dueMs: number;
  /** How many hosts vanished with it, itself included; 0: it is believed at once. */
  readonly crowd: number;
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
  readonly #crowd: MassLoss;
  readonly #stop: () => void;
  #heldBack = 0;

  constructor(deps: HostWatchDeps) {
    this.#deps = deps;
    const { lostAfterMs, massLossWaitMs } = deps;
    this.#crowd = new MassLoss(lostAfterMs, massLossWaitMs ?? MASS_LOSS_WAIT_FACTOR * lostAfterMs);
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
    this.#findCrowd();
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [host, sinceMs] of this.#missing) {
      if (this.#eligibility.underWay >= VERDICTS_MAX) break;
      const isOne = !this.#crowd.has(host);
      const dueMs = isOne ? sinceMs + this.#deps.lostAfterMs : this.#crowd.dueMs(sinceMs);
      if (nowMs < dueMs + this.#lagMs(host) || !this.#isSilent(host) || this.#isLost(host)) continue;
      if (!isOne && !this.#mayDeclareOneMore(host, nowMs)) continue;
      const silentMs = Math.round(nowMs - sinceMs);
      this.#eligibility.set(host, { state: 'lost', reason: 'no session and no report', silentMs }, isNotLost);
    }
  }

  /** @returns null: its session is there, or it is lost already */
  verdictOf(host: string): ComingVerdict | null {
    const { clock, copy, lostAfterMs } = this.#deps;
    const sinceMs = this.#missing.get(host);
    if (sinceMs === undefined || this.#isLost(host)) return null;
    const nowMs = clock.monotonicMs();
    const isOne = !this.#crowd.has(host);
    const dueMs = isOne ? sinceMs + lostAfterMs : this.#crowd.forecastMs(host, copy.hosts.size, nowMs);
    const wallMs = (atMs: number): number => Math.round(clock.nowMs() + atMs - nowMs);
    return { sinceMs: wallMs(sinceMs), dueMs: wallMs(dueMs), crowd: isOne ? 0 : this.#crowd.size };
  }

  /** One monitor acts for a host, and the others after it. */
  #lagMs(key: string): number {
    return monitorRank(this.#deps, key) * CHECK_MS * 2;
  }

  /** One monitor paces a whole crowd: the next acts when an interval has passed without a verdict. */
  #mayDeclareOneMore(host: string, nowMs: number): boolean {
    const { copy } = this.#deps;
    if (copy.alive.size === 0) return false;
    const spanMs = MASS_LOSS_INTERVAL_MS + this.#lagMs(CROWD_KEY);
    return this.#crowd.take(host, copy.hosts.size, nowMs, spanMs);
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
  #findCrowd(): void {
    const { copy, clock, log, metrics } = this.#deps;
    const fresh = new Map([...this.#missing].filter(([host]) => !this.#isLost(host)));
    const fateOf = (host: string): Fate => {
      if (copy.hosts.get(host) === undefined) return 'removed';
      return this.#isLost(host) ? 'lost' : 'returned';
    };
    this.#crowd.update(fresh, copy.hosts.size, clock.monotonicMs(), fateOf);
    const { size } = this.#crowd;
    if ((size === 0) !== (this.#heldBack === 0)) {
      if (size > 0) log.warn({ hosts: size }, 'too many hosts vanished at once: their verdicts are slowed');
      this.#deps.onHeldBack(size);
    }
    this.#heldBack = size;
    metrics.gauge('moorage_monitor_lost_hosts_held_back', size);
  }

  #readmit(): void {
    for (const [host, { value }] of this.#deps.copy.eligibility.rows()) {
      if (value.state !== 'lost' || this.#missing.has(host)) continue;
      if (!isReporting(this.#deps.view, host) || monitorRank(this.#deps, host) !== 0) continue;
      const nowMs = Math.round(this.#deps.clock.nowMs());
      // A machine that is started anew during its maintenance is not ready before that is over.
      if (value.window !== undefined && isInWindow(value, nowMs))
        this.#eligibility.set(host, drainedBy(value.window, nowMs), isLost);
      else this.#eligibility.set(host, { state: 'ready', reason: 'it is back' }, isLost);
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
