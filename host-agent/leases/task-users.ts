import type { IdRange } from '../../src/core/host/shim.ts';
import type { AgentPorts } from '../ports.ts';
import { LeaseStore } from './lease-store.ts';

/** User ids that belong to a host's tasks and to nobody else on the machine; group ids alike. */
export type UserRange = IdRange;

/**
 * Where no distribution, container runtime or subordinate range gives out ids: above those of nspawn's containers, below
 * the 31st bit, which old programs take for a sign.
 */
const FREE: UserRange = { first: 1_879_048_192, count: 268_000_000 };
/** Four for each allocation that a host keeps: the least recently used is far away. */
const COUNT_DEFAULT = 16_384;

/** What an allocation with a user namespace gets: as many as programs expect, the largest 16-bit number among them. */
export const IDS_EACH = 65_536;
/** With the 31st bit there is room for them. What only numbers files and processes of such tasks takes it for no sign. */
const FREE_IDS: UserRange = { first: 2 ** 31, count: 2 ** 31 - IDS_EACH };
/** Allocations at once: as many as orchestrators of containers put on a host. */
const RANGES_DEFAULT = 128;

/** Which of the next users are given out is recorded for so many at once. */
const AHEAD = 64;

/**
 * The range of a host that was given none: of its state folder's own, so that two hosts on one machine seldom share one.
 * @param digest hex, of the state folder's id
 */
export function ownRange(digest: string): UserRange {
  return blockOf(digest, FREE, COUNT_DEFAULT);
}

/** As `ownRange`, of the ids for allocations that get `IDS_EACH`. */
export function ownIds(digest: string): UserRange {
  return blockOf(digest, FREE_IDS, RANGES_DEFAULT * IDS_EACH);
}

function blockOf(digest: string, free: UserRange, count: number): UserRange {
  const block = Number.parseInt(digest.slice(0, 12), 16) % Math.floor(free.count / count);
  return { first: free.first + block * count, count };
}

export interface TaskUsersOptions {
  /** Folder of these leases. */
  readonly kind: 'user' | 'ids';
  readonly range: UserRange;
  /** How many each allocation gets. */
  readonly each: number;
  /** Those that somebody uses to whom they are not lent. Default: not asked. */
  readonly inUse?: () => Promise<readonly IdRange[]>;
}

/**
 * Users for each allocation: one, or a range. They are given out in turn, so that each is used again as late as can be: what
 * its last holder left anywhere on the machine is long gone, or long forgotten by whoever waits for it. The turn outlives
 * the agent.
 */
export class TaskUsers {
  readonly store: LeaseStore;
  readonly #disk: AgentPorts['disk'];
  readonly #options: TaskUsersOptions;
  readonly #turnFile: string;
  /** Holders by the first of what they have. */
  readonly #held = new Map<number, string>();
  /** Counts from the start of the range, and is never smaller than before. */
  #next = 0;
  #recorded = 0;
  /** Choosing looks first and takes then: one at a time. */
  #choosing: Promise<unknown> = Promise.resolve();

  constructor(ports: Pick<AgentPorts, 'disk' | 'clock'>, options: TaskUsersOptions) {
    this.store = new LeaseStore(ports, options.kind, 0);
    this.#disk = ports.disk;
    this.#options = options;
    this.#turnFile = `leases/next-${options.kind}`;
  }

  /** Takes over what an earlier agent lent. */
  async open(): Promise<void> {
    for (const [name, holder] of await this.store.all()) this.#held.set(Number(name), holder);
    this.#next = this.#recorded = Number((await this.#disk.read(this.#turnFile)) ?? 0) || 0;
  }

  /** @returns the first of what it has now; null when all are taken */
  lend(id: string): Promise<number | null> {
    const chosen = this.#choosing.then(() => this.#choose(id));
    this.#choosing = chosen.catch(() => undefined);
    return chosen;
  }

  /** What an allocation has already. */
  async hold(id: string, first: number): Promise<void> {
    await this.store.take(id, [String(first)]);
    this.#held.set(first, id);
  }

  async free(id: string, first: number): Promise<void> {
    await this.store.free(id, [String(first)], null);
    if (this.#held.get(first) === id) this.#held.delete(first);
  }

  async #choose(id: string): Promise<number | null> {
    const { range, each, inUse } = this.#options;
    const slots = Math.floor(range.count / each);
    const strangers = (await inUse?.()) ?? [];
    for (let tries = 0; tries < slots; tries++) {
      const first = range.first + (this.#next % slots) * each;
      await this.#advance();
      if (this.#held.has(first) || strangers.some((other) => overlap(other, { first, count: each })))
        continue;
      const taken = await this.store.take(id, [String(first)]);
      this.#held.set(first, taken?.holder ?? id);
      if (taken === null) return first;
    }
    return null;
  }

  /** On disk before it is used: an agent that dies skips some, and gives none out again too soon. */
  async #advance(): Promise<void> {
    this.#next += 1;
    if (this.#next <= this.#recorded) return;
    this.#recorded = this.#next + AHEAD;
    await this.#disk.replace(this.#turnFile, String(this.#recorded));
  }
}

function overlap(a: IdRange, b: IdRange): boolean {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}
