import type { Etcd3 } from 'etcd3';
import type { Clock } from '../../ports/clock.ts';
import type { OnReply } from '../store/identity.ts';
import { headerOf } from './client/txn-codec.ts';

export interface CanaryOptions {
  readonly etcd: Etcd3;
  /** Called before each write. */
  readonly beginCall: () => OnReply;
  readonly clock: Clock;
  readonly key: string;
  readonly intervalMs: number;
  /** Called one interval after a canary was written: a watch that has not seen it by then is cut off. */
  readonly onDue: (value: string, writtenAtMs: number) => void;
}

/**
 * Writes a small key every interval that must come through every watch. A link that is open in one direction only gives no
 * event and no error; nothing else distinguishes it from a quiet cell. A process that only follows also learns from the
 * reply that another store answers.
 */
export class Canary {
  readonly #options: CanaryOptions;
  readonly #nonce: string;
  #count = 0;
  #cancel: () => void = () => undefined;
  #running = false;

  constructor(options: CanaryOptions, nonce: string) {
    this.#options = options;
    this.#nonce = nonce;
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

  #tick(last: { readonly value: string; readonly writtenAtMs: number } | null): void {
    if (last !== null) this.#options.onDue(last.value, last.writtenAtMs);
    if (!this.#running) return;
    void this.#write().then((written) => {
      if (!this.#running) return;
      this.#cancel = this.#options.clock.after(this.#options.intervalMs, () => this.#tick(written));
    });
  }

  /** @returns null when it could not be written (store away, or out of space): no watch can have seen it */
  async #write(): Promise<{ readonly value: string; readonly writtenAtMs: number } | null> {
    const writtenAtMs = this.#options.clock.monotonicMs();
    this.#count += 1;
    const value = `${this.#nonce}:${String(this.#count)}`;
    try {
      const { beginCall, etcd, key } = this.#options;
      const onReply = beginCall();
      onReply(headerOf(await etcd.kv.put({ key: Buffer.from(key), value: Buffer.from(value) })));
      return { value, writtenAtMs };
    } catch {
      return null;
    }
  }
}
