/**
 * Losses of hosts and of the store.
 *
 * - This file: when a host is declared lost (I18).
 * - `lost-host-moves.ts`: what a lost host held is replaced where its job asks for it (S0.1, I10)
 * - `restores.ts`: what ran when the store was restored runs on (I53, I54)
 */
import type { CellAt, Step } from '../replay/replay.ts';
import type { Stamp, Stamped } from '../../history/history.ts';
import type { RevisionFact } from '../../history/store-facts.ts';
import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Findings } from '../replay/violations.ts';

/** The least time without a session before a host is lost. Monitors wait 18 s by their own clocks, which may run at twice the true rate. */
const RECOVERY_MS = 9_000;
/** So many hosts, and this share of all, that vanish within this time are a crowd. */
const CROWD_MS = 10_000;
const CROWD_FRACTION = 0.3;
const CROWD_MIN = 2;
/** As `RECOVERY_MS`, for a crowd: monitors wait 54 s. */
const CROWD_RECOVERY_MS = 27_000;
/** Of a crowd this share of the cell, and at least one host, is declared lost every 10 s, by clocks that may run at twice the true rate. */
const PACE_MS = 4_000;
const PACE_FRACTION = 0.1;
/** A second monitor may act before it has seen the verdict of the first. */
const PACE_MONITORS = 2;
/** Two monitors see the same end of a session at slightly different times. */
const SLACK_MS = 1_000;

/**
 * I18: a host is declared lost only when its session has been gone for long, and as one of a crowd that vanished
 * together only later, and a few at a time. The ends of sessions are read off the store.
 */
export class LossChecker {
  /** Hosts with a session. */
  readonly alive = new Set<string>();
  readonly #prefix: string;
  /** When the session of each host ended; absent while there is one. */
  readonly #missing = new Map<string, Stamp>();
  /** Hosts that vanished together and are not back. */
  readonly #crowd = new Set<string>();
  /** When each host of a crowd was declared lost. */
  readonly #paced: Stamp[] = [];

  constructor(keys: CellKeys) {
    this.#prefix = keys.alive;
  }

  check(step: Step, cell: CellAt, at: Stamped<RevisionFact>, findings: Findings): void {
    for (const change of at.fact.changes) {
      const key = change.kind === 'put' ? change.entry.key : change.key;
      if (!key.startsWith(this.#prefix)) continue;
      const host = key.slice(this.#prefix.length);
      if (change.kind === 'put') this.alive.add(host);
      else this.alive.delete(host);
      if (change.kind === 'put') this.#crowd.delete(host);
      if (change.kind === 'put') this.#missing.delete(host);
      else if (!this.#missing.has(host)) this.#missing.set(host, { seq: at.seq, atMs: at.atMs });
    }
    if (step.initial) return;
    for (const { name, before, after } of step.changed.eligibility)
      if (after?.state === 'lost' && before?.state !== 'lost')
        this.#checkLost(name, cell, at, step, findings);
  }

  #checkLost(host: string, cell: CellAt, at: Stamp, step: Step, findings: Findings): void {
    const since = this.#missing.get(host);
    // A host that was never alive in the run has no end of a session.
    if (since === undefined) {
      findings.add('I18', step.revision, host, 'declared lost while its session was there');
      return;
    }
    const goneMs = at.atMs - since.atMs;
    if (goneMs < RECOVERY_MS)
      findings.add('I18', step.revision, host, `declared lost ${String(goneMs)} ms after its session's end`, [
        since,
      ]);
    const crowd = this.#crowdOf(host, since, cell);
    if (crowd.length >= CROWD_MIN && crowd.length > cell.hosts.size * CROWD_FRACTION)
      for (const member of crowd) this.#crowd.add(member);
    if (this.#crowd.has(host)) this.#checkCrowd(host, since, cell, at, step, findings);
  }

  #checkCrowd(host: string, since: Stamp, cell: CellAt, at: Stamp, step: Step, findings: Findings): void {
    const goneMs = at.atMs - since.atMs;
    if (goneMs < CROWD_RECOVERY_MS)
      findings.add(
        'I18',
        step.revision,
        host,
        `declared lost ${String(goneMs)} ms after it vanished together with others`,
        [since],
      );
    this.#paced.push(at);
    const recent = this.#paced.filter(({ atMs }) => at.atMs - atMs < PACE_MS);
    const most = PACE_MONITORS * Math.max(1, Math.floor(cell.hosts.size * PACE_FRACTION));
    if (recent.length <= most) return;
    const together = `${String(recent.length)} hosts that vanished together were declared lost together`;
    findings.add('I18', step.revision, host, together, recent);
  }

  /** The most hosts that vanished within one window around the host's own end, of those that are still missing. */
  #crowdOf(host: string, since: Stamp, cell: CellAt): readonly string[] {
    const gone: (readonly [string, number])[] = [[host, since.atMs]];
    for (const [other, { atMs }] of this.#missing) {
      const known = other !== host && cell.hosts.has(other) && cell.eligibility.get(other)?.state !== 'lost';
      if (known && Math.abs(atMs - since.atMs) <= CROWD_MS - SLACK_MS) gone.push([other, atMs]);
    }
    let most: readonly string[] = [];
    for (const [, from] of gone) {
      const within = gone.filter(([, atMs]) => atMs >= from && atMs - from <= CROWD_MS - SLACK_MS);
      const window = within.map(([name]) => name);
      if (window.includes(host) && window.length > most.length) most = window;
    }
    return most;
  }
}
