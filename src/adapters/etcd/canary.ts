import type { Etcd3 } from 'etcd3';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { OnReply } from '../store/identity.ts';
import { headerOf } from './client/txn-codec.ts';

export interface CanaryOptions {
  readonly etcd: Etcd3;
  /** Called before each call. */
  readonly beginCall: () => OnReply;
  readonly clock: Clock;
  readonly key: string;
  readonly intervalMs: number;
  readonly random: Pick<Random, 'fraction'>;
  /** Has something come through each watch since then (monotonic)? */
  readonly isHeardSince: (sinceMs: number) => boolean;
  /** Has the store answered a call, of whatever kind, since then (monotonic)? */
  readonly isAnsweredSince: (sinceMs: number) => boolean;
  /** Called one interval after a canary was written: a watch that nothing has come through since then is cut off. */
  readonly onDue: (writtenAtMs: number) => void;
}

/**
 * The part of the interval in which something must have come. Less than the shortest time between two ticks: what a process
 * wrote itself at the last one, and heard, is not fresh any more.
 */
const FRESH = 0.75;
/** How much earlier a tick may come, as a part of the interval: processes that began together do not write together for ever. */
const EARLIER_MAX = 0.2;
/** In intervals: an older answer than this does not do any more, so each process asks at least every three. */
const ANSWER_KEPT = 2;

/**
 * Every interval, something must come through every watch: a link that is open in one direction only gives no event and no
 * error, and nothing else distinguishes it from a quiet cell. So a small key is written, unless something has just come, such as
 * what another process wrote: a write is synced to disk, and brought to all that watch the key. A process that asks nothing else of
 * the store reads the key now and then, since it learns from replies that another store answers. A store that begins again cuts
 * all watches, which then list: this is for one behind a proxy that does not.
 */
export class Canary {
  readonly #options: CanaryOptions;
  #cancel: () => void = () => undefined;
  #running = false;

  constructor(options: CanaryOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#tick(null);
  }

  stop(): void {
    this.#running = false;
    this.#cancel();
  }

  /** @param writtenAtMs of the canary that was written at the tick before; null: none was */
  #tick(writtenAtMs: number | null): void {
    const { clock, intervalMs, isHeardSince, isAnsweredSince, onDue } = this.#options;
    if (writtenAtMs !== null) onDue(writtenAtMs);
    if (!this.#running) return;
    const nowMs = clock.monotonicMs();
    const isFresh = isHeardSince(nowMs - FRESH * intervalMs);
    if (isFresh && isAnsweredSince(nowMs - ANSWER_KEPT * intervalMs)) this.#next(null);
    else void (isFresh ? this.#read() : this.#write()).then((written) => this.#next(written));
  }

  #next(writtenAtMs: number | null): void {
    if (!this.#running) return;
    const { clock, intervalMs, random } = this.#options;
    const delayMs = intervalMs * (1 - EARLIER_MAX * random.fraction());
    this.#cancel = clock.after(delayMs, () => this.#tick(writtenAtMs));
  }

  /** @returns null: nothing was written */
  async #read(): Promise<null> {
    try {
      const { beginCall, etcd, key } = this.#options;
      const onReply = beginCall();
      onReply(headerOf(await etcd.kv.range({ key: Buffer.from(key), keys_only: true })));
    } catch {
      // Who answers is all that is wanted; a store that is away is noticed by who wants something of it.
    }
    return null;
  }

  /** @returns when; null: it could not be written (store away, or out of space), so no watch can have seen it */
  async #write(): Promise<number | null> {
    const writtenAtMs = this.#options.clock.monotonicMs();
    try {
      const { beginCall, etcd, key } = this.#options;
      const onReply = beginCall();
      onReply(headerOf(await etcd.kv.put({ key: Buffer.from(key), value: Buffer.alloc(0) })));
      return writtenAtMs;
    } catch {
      return null;
    }
  }
}
