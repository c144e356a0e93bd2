import type { AgentPorts } from '../ports.ts';
import { LeaseStore } from './lease-store.ts';

/** User ids that belong to a host's tasks and to nobody else on the machine; group ids alike. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/**
 * Where no distribution, container runtime or subordinate range gives out ids: above those of nspawn's containers, below
 * the 31st bit, which old programs take for a sign.
 */
const FREE: UserRange = { first: 1_879_048_192, count: 268_000_000 };
/** Four for each allocation that a host keeps: the least recently used is far away. */
const COUNT_DEFAULT = 16_384;

/** Which of the next users are given out is recorded for so many at once. */
const AHEAD = 64;
const NEXT = 'leases/next-user';

/**
 * The range of a host that was given none: of its state folder's own, so that two hosts on one machine seldom share one.
 * @param digest hex, of the state folder's id
 */
export function ownRange(digest: string): UserRange {
  const block = Number.parseInt(digest.slice(0, 12), 16) % Math.floor(FREE.count / COUNT_DEFAULT);
  return { first: FREE.first + block * COUNT_DEFAULT, count: COUNT_DEFAULT };
}

/**
 * A user for each allocation. They are given out in turn, so that each is used again as late as can be: what its last
 * holder left anywhere on the machine is long gone, or long forgotten by whoever waits for it. The turn outlives the agent.
 */
export class TaskUsers {
  readonly store: LeaseStore;
  readonly #disk: AgentPorts['disk'];
  readonly #range: UserRange;
  readonly #held = new Map<number, string>();
  /** Counts from the start of the range, and is never smaller than before. */
  #next = 0;
  #recorded = 0;
  /** Choosing looks first and takes then: one at a time. */
  #choosing: Promise<unknown> = Promise.resolve();

  constructor(ports: Pick<AgentPorts, 'disk' | 'clock'>, range: UserRange) {
    this.store = new LeaseStore(ports, 'user', 0);
    this.#disk = ports.disk;
    this.#range = range;
  }

  /** Takes over what an earlier agent lent. */
  async open(): Promise<void> {
    for (const [name, holder] of await this.store.all()) this.#held.set(Number(name), holder);
    this.#next = this.#recorded = Number((await this.#disk.read(NEXT)) ?? 0) || 0;
  }

  /** @returns null when all are taken */
  lend(id: string): Promise<number | null> {
    const chosen = this.#choosing.then(() => this.#choose(id));
    this.#choosing = chosen.catch(() => undefined);
    return chosen;
  }

  /** What an allocation has already. */
  async hold(id: string, uid: number): Promise<void> {
    await this.store.take(id, [String(uid)]);
    this.#held.set(uid, id);
  }

  async free(id: string, uid: number): Promise<void> {
    await this.store.free(id, [String(uid)], null);
    if (this.#held.get(uid) === id) this.#held.delete(uid);
  }

  async #choose(id: string): Promise<number | null> {
    const { first, count } = this.#range;
    for (let tries = 0; tries < count; tries++) {
      const uid = first + (this.#next % count);
      await this.#advance();
      if (this.#held.has(uid)) continue;
      const taken = await this.store.take(id, [String(uid)]);
      this.#held.set(uid, taken?.holder ?? id);
      if (taken === null) return uid;
    }
    return null;
  }

  /** On disk before it is used: an agent that dies skips some, and gives none out again too soon. */
  async #advance(): Promise<void> {
    this.#next += 1;
    if (this.#next <= this.#recorded) return;
    this.#recorded = this.#next + AHEAD;
    await this.#disk.replace(NEXT, String(this.#recorded));
  }
}
