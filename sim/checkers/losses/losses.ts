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

/** The least time without a session before a host is lost. Monitors wait 30 s by their own clocks, which may run at twice the true rate. */
const RECOVERY_MS = 15_000;
/** So many hosts, and this share of all, that vanish within this time are a crowd. */
const CROWD_MS = 10_000;
const CROWD_FRACTION = 0.3;
const CROWD_MIN = 2;
/** Two monitors see the same end of a session at slightly different times. */
const SLACK_MS = 1_000;

/**
 * I18: a host is declared lost only when its session has been gone for long, and never as one of a crowd that vanished together.
 * The ends of sessions are read off the store.
 */
export class LossChecker {
  /** Hosts with a session. */
  readonly alive = new Set<string>();
  readonly #prefix: string;
  /** When the session of each host ended; absent while there is one. */
  readonly #missing = new Map<string, Stamp>();

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
    if (crowd >= CROWD_MIN && crowd > cell.hosts.size * CROWD_FRACTION)
      findings.add(
        'I18',
        step.revision,
        host,
        `declared lost, though ${String(crowd)} of ${String(cell.hosts.size)} hosts vanished together`,
        [since],
      );
  }

  /** The most hosts that vanished within one window around the host's own end, of those that are still missing. */
  #crowdOf(host: string, since: Stamp, cell: CellAt): number {
    const times = [since.atMs];
    for (const [other, { atMs }] of this.#missing) {
      const known = other !== host && cell.hosts.has(other) && cell.eligibility.get(other)?.state !== 'lost';
      if (known && Math.abs(atMs - since.atMs) <= CROWD_MS - SLACK_MS) times.push(atMs);
    }
    times.sort((a, b) => a - b);
    let most = 0;
    for (const [i, from] of times.entries()) {
      const window = times.slice(i).filter((atMs) => atMs - from <= CROWD_MS - SLACK_MS);
      if (window.includes(since.atMs)) most = Math.max(most, window.length);
    }
    return most;
  }
}
