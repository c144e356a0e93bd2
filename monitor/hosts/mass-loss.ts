/** More than this share of the hosts, gone within the window, points to a fault of this side, not of the hosts (I18). */
export const MASS_LOSS_FRACTION = 0.3;
export const MASS_LOSS_WINDOW_MS = 10_000;
/** In a cell of three hosts one is a third already; a single host is never a mass loss. */
export const MASS_LOSS_MIN = 2;

/** A crowd waits so many times as long as a single host before the first of it is declared lost. */
export const MASS_LOSS_WAIT_FACTOR = 3;
/** The wait that returning hosts can bring about ends after so many times the crowd's own wait. */
const HOLD_FACTOR_MAX = 2;
/** Then this share of the cell, and at least one host, is declared lost in each interval. */
export const MASS_LOSS_SHARE = 0.1;
export const MASS_LOSS_INTERVAL_MS = 10_000;

/**
 * Hosts that vanished together with too many other hosts to be believed.
 *
 * @param missing host to the time at which it vanished, of those that are missing now
 * @param total hosts that are known, the missing ones included
 */
export function suspectHosts(missing: ReadonlyMap<string, number>, total: number): ReadonlySet<string> {
  const ordered = [...missing].sort((a, b) => a[1] - b[1]);
  const suspects = new Set<string>();
  let from = 0;
  /** All before this one that are suspects are among them. */
  let next = 0;
  for (let to = 0; to < ordered.length; to++) {
    const end = ordered[to]?.[1] ?? 0;
    while (end - (ordered[from]?.[1] ?? 0) > MASS_LOSS_WINDOW_MS) from += 1;
    const together = to - from + 1;
    if (together < MASS_LOSS_MIN || together <= total * MASS_LOSS_FRACTION) continue;
    for (const [host] of ordered.slice(Math.max(from, next), to + 1)) suspects.add(host);
    next = to + 1;
  }
  return suspects;
}

/** How many hosts of a crowd may be declared lost in one interval. */
export function verdictsPerInterval(total: number): number {
  return Math.max(1, Math.floor(total * MASS_LOSS_SHARE));
}

/** What became of a host that is no longer missing, or no longer undecided. */
export type Fate = 'returned' | 'lost' | 'removed';

/**
 * Slows verdicts on hosts that vanished together (I18): the first comes late, and then a few in each interval. Each return is a
 * sign that the fault heals, and holds the others back anew. A host of a crowd stays one until its own fate is known: the
 * crowd does not shrink with each verdict to one that is believed.
 */
export class MassLoss {
  readonly #lostAfterMs: number;
  readonly #waitMs: number;
  /** Since when each member is missing. */
  readonly #members = new Map<string, number>();
  /** The same in order, for a look at many members; null: they have changed. */
  #sinceMs: readonly number[] | null = null;
  /** When each verdict of the last intervals was asked for or seen. */
  readonly #verdicts = new Map<string, number>();
  #returnedMs = Number.NEGATIVE_INFINITY;

  constructor(lostAfterMs: number, waitMs: number) {
    this.#lostAfterMs = lostAfterMs;
    this.#waitMs = Math.max(waitMs, lostAfterMs);
  }

  get size(): number {
    return this.#members.size;
  }

  has(host: string): boolean {
    return this.#members.has(host);
  }

  /**
   * @param missing hosts without a session that are not declared lost, and since when
   * @param fateOf of a member that is not among them any more
   */
  update(
    missing: ReadonlyMap<string, number>,
    total: number,
    nowMs: number,
    fateOf: (host: string) => Fate,
  ): void {
    this.#sinceMs = null;
    for (const host of [...this.#members.keys()]) {
      if (missing.has(host)) continue;
      this.#members.delete(host);
      const fate = fateOf(host);
      if (fate === 'returned') this.#returnedMs = nowMs;
      if (fate === 'lost' && !this.#verdicts.has(host)) this.#verdicts.set(host, nowMs);
    }
    for (const host of suspectHosts(missing, total)) this.#members.set(host, missing.get(host) ?? nowMs);
    for (const [host, atMs] of this.#verdicts)
      if (nowMs - atMs > 2 * MASS_LOSS_INTERVAL_MS) this.#verdicts.delete(host);
  }

  /** From when on a member may be declared lost, if its turn has come. */
  dueMs(sinceMs: number): number {
    const ownMs = sinceMs + this.#waitMs;
    const heldMs = this.#returnedMs + this.#lostAfterMs;
    return Math.max(ownMs, Math.min(heldMs, sinceMs + HOLD_FACTOR_MAX * this.#waitMs));
  }

  /** When the host's turn comes, if nobody returns. */
  forecastMs(host: string, total: number, nowMs: number): number {
    const sinceMs = this.#members.get(host) ?? nowMs;
    const turns = Math.floor(this.#goneBefore(sinceMs) / verdictsPerInterval(total));
    return Math.max(nowMs, this.dueMs(sinceMs)) + turns * MASS_LOSS_INTERVAL_MS;
  }

  /** How many members are missing since before. */
  #goneBefore(sinceMs: number): number {
    this.#sinceMs ??= [...this.#members.values()].sort((a, b) => a - b);
    let [low, high] = [0, this.#sinceMs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sinceMs[middle] ?? 0) < sinceMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Takes one of the interval's verdicts.
   * @param spanMs the interval as this monitor counts it: longer, the later it is to act among the monitors
   * @returns false: none is left in this interval
   */
  take(host: string, total: number, nowMs: number, spanMs: number): boolean {
    const recent = [...this.#verdicts.values()].filter((atMs) => nowMs - atMs < spanMs);
    if (recent.length >= verdictsPerInterval(total)) return false;
    this.#verdicts.set(host, nowMs);
    return true;
  }
}
