import { ownerRank } from '../../core/cell/ownership.ts';
import type { Clock } from '../../ports/clock.ts';

/** A host that another monitor has tried to reach in vain is left to those that rank before this one for so long. */
export const PATIENCE_MS = 1_000;
/** One of which the others say nothing: at its start a monitor has thousands of streams to open. */
export const PATIENCE_UNSAID_MS = 15_000;

/** What a monitor knows of the others. */
export interface Peers {
  /** Those that have told all that they know on a stream that is open, or are asked for the first time. Another set is another object. */
  readonly live: ReadonlySet<string>;
  /** One of them follows the host directly, and hears of it. */
  hears(host: string): boolean;
  /** One of them follows the host directly, and does not hear of it. */
  misses(host: string): boolean;
}

/**
 * Which hosts a monitor follows directly: those for which it ranks first among the live monitors, by rendezvous hashing, and
 * those of which no other one hears. Two may follow the same host for a while, as when one takes over from the other: what
 * they hear is merged by the hosts' own marks.
 */
export class HostShare {
  readonly #self: string;
  readonly #clock: Clock;
  readonly #peers: Peers;
  readonly #isOwn = new Map<string, boolean>();
  #rankedAmong: ReadonlySet<string> | null = null;
  /** Since when nobody hears of a host of another's share. */
  readonly #unheardSinceMs = new Map<string, number>();

  constructor(self: string, clock: Clock, peers: Peers) {
    this.#self = self;
    this.#clock = clock;
    this.#peers = peers;
  }

  /** @param isFollowed it has a stream here */
  follows(host: string, isFollowed: boolean): boolean {
    const isOwn = this.#peers.live.size === 0 || this.#isOwnHost(host);
    if (isOwn || this.#peers.hears(host)) {
      this.#unheardSinceMs.delete(host);
      return isOwn;
    }
    if (isFollowed) return true;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#unheardSinceMs.get(host) ?? nowMs;
    this.#unheardSinceMs.set(host, sinceMs);
    return nowMs - sinceMs >= (this.#peers.misses(host) ? PATIENCE_MS : PATIENCE_UNSAID_MS);
  }

  forget(host: string): void {
    this.#isOwn.delete(host);
    this.#unheardSinceMs.delete(host);
  }

  #isOwnHost(host: string): boolean {
    const { live } = this.#peers;
    if (this.#rankedAmong !== live) {
      this.#rankedAmong = live;
      this.#isOwn.clear();
    }
    let isOwn = this.#isOwn.get(host);
    if (isOwn === undefined) this.#isOwn.set(host, (isOwn = ownerRank(host, live, this.#self) === 0));
    return isOwn;
  }
}
