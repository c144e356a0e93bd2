import type { Attempt, AttemptReply, CellStore, StoreLimits } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Random } from '../../src/ports/random.ts';
import { turns } from './instant-clock.ts';

export type AttemptFault =
  /** Applied, but the reply is lost. */
  | 'reply-lost'
  /** Never applied, and nobody says so. */
  | 'request-lost'
  /** No reply; applied some turns later, when the caller may have drawn its conclusions. */
  | 'lands-late'
  /** Surely not applied. */
  | 'unavailable';

/** A store whose attempts meet faults; everything else is passed on. */
export class FaultyStore {
  readonly faults = { 'reply-lost': 0, 'request-lost': 0, 'lands-late': 0, unavailable: 0 };
  /** Decides for each attempt; null: no fault. */
  next: (attempt: Attempt) => AttemptFault | null = () => null;
  readonly #inner: CellStore;
  readonly #random: Random;
  #late: Promise<unknown>[] = [];

  constructor(inner: CellStore, random: Random) {
    this.#inner = inner;
    this.#random = random;
  }

  get store(): CellStore {
    const inner = this.#inner;
    const attempt = (one: Attempt): Promise<AttemptReply> => this.#attempt(one);
    return {
      get limits(): StoreLimits {
        return inner.limits;
      },
      attempt,
      read: (keys) => inner.read(keys),
      list: (prefix) => inner.list(prefix),
      listMany: (prefixes) => inner.listMany(prefixes),
      follow: (prefix, follower) => inner.follow(prefix, follower),
      openSession: (options) => inner.openSession(options),
      history: (prefix, from) => inner.history(prefix, from),
      oldestRevision: () => inner.oldestRevision(),
      close: () => inner.close(),
    };
  }

  /** Everything late has landed. */
  async landed(): Promise<void> {
    await Promise.all(this.#late);
  }

  async #attempt(attempt: Attempt): Promise<AttemptReply> {
    const fault = this.next(attempt);
    await turns(this.#random.below(3));
    if (fault !== null) this.faults[fault] += 1;
    const unknown = { outcome: 'unknown', cause: new Error(`injected: ${String(fault)}`) } as const;
    switch (fault) {
      case null: {
        const reply = await this.#inner.attempt(attempt);
        await turns(this.#random.below(3));
        return reply;
      }
      case 'reply-lost':
        await this.#inner.attempt(attempt);
        return unknown;
      case 'request-lost':
        return unknown;
      case 'lands-late': {
        const delay = this.#random.below(12);
        this.#late.push(turns(delay).then(() => this.#inner.attempt(attempt)));
        return unknown;
      }
      case 'unavailable':
        throw new StoreError('unavailable', 'injected', { retryable: true });
    }
  }
}
