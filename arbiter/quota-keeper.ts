import type { RoleRecord } from '../src/core/cell/cell.ts';
import type { Session } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import { Backoff } from '../src/runtime/wait/backoff.ts';
import { sleep, untilAborted } from '../src/runtime/wait/wait.ts';
import { Table } from '../src/runtime/records/records.ts';
import { Waker } from '../src/runtime/wait/waker.ts';
import { roleCodec } from '../src/wire/records/records.ts';

export interface QuotaKeeperDeps extends Omit<RolePorts, 'metrics'> {
  readonly record: Omit<RoleRecord, 'address'>;
  readonly sessionTtlMs: number;
  /** This arbiter keeps the quotas from now on. */
  readonly onKeeping: () => void;
}

const RETRY = { firstMs: 200, maxMs: 5_000 };

/**
 * Registers the arbiter, and lets exactly one of several keep the quotas:
 *
 *   no session → registered → keeping → (session lost) → no session
 *
 * The keeper holds a key under its session. It ceases to be keeper at the session's own, earlier deadline; its successor
 * waits until the tickets of its predecessor have expired (`GRANT_HELD_MS`), so that two never grant against one limit (S4.18).
 */
export class QuotaKeeper {
  readonly #deps: QuotaKeeperDeps;
  readonly #holder: Table<RoleRecord>;
  readonly #changed = new Waker();
  readonly #stop = new AbortController();
  #session: Session | null = null;
  #keeping = false;
  #running: Promise<void> | null = null;
  #address = '';

  constructor(deps: QuotaKeeperDeps) {
    this.#deps = deps;
    this.#holder = new Table(deps.store, deps.keys.quotaKeeper, roleCodec, {
      onChange: () => this.#changed.wake(),
    });
  }

  /**
   * @param address where this arbiter's API listens
   * @returns settles with `close`; rejects when the store refuses this arbiter for good
   */
  start(address: string): Promise<void> {
    this.#address = address;
    this.#running ??= this.#run();
    return this.#running;
  }

  get registered(): boolean {
    return this.#session?.lost.aborted === false;
  }

  /** null: this arbiter keeps the quotas; else the id of the keeper, as far as known; empty: none. */
  get otherKeeper(): string | null {
    if (this.#keeping && this.registered) return null;
    const holder = this.#holder.get('')?.value.id ?? '';
    return holder === this.#deps.record.id ? '' : holder;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.catch(() => undefined);
    this.#holder.close();
    await this.#session?.close();
  }

  async #run(): Promise<void> {
    const { clock, random, log, store, sessionTtlMs } = this.#deps;
    const signal = this.#stop.signal;
    const backoff = new Backoff(RETRY, random);
    while (!signal.aborted) {
      try {
        const session = await store.openSession({ ttlMs: sessionTtlMs });
        this.#session = session;
        await this.#register(session);
        backoff.reset();
        await this.#keep(session, AbortSignal.any([session.lost, signal]));
      } catch (error) {
        if (!(error instanceof StoreError) || (!error.retryable && error.code !== 'closed')) throw error;
        log.warn({ error }, 'the arbiter could not register itself');
      }
      this.#keeping = false;
      if (signal.aborted) return;
      await this.#session?.close().catch(() => undefined);
      await sleep(clock, backoff.nextMs(), signal);
    }
  }

  #encoded(): string {
    return roleCodec.encode({ ...this.#deps.record, address: this.#address });
  }

  async #register(session: Session): Promise<void> {
    const { store, keys, record } = this.#deps;
    const key = keys.role('arbiter', record.id);
    // Not create-only: after a crash the record of the last session may still be there, with an old address.
    const reply = await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key, value: this.#encoded(), session }],
      readBack: [],
    });
    if (reply.outcome === 'unknown')
      throw new StoreError('unavailable', 'registration without an answer', {
        retryable: true,
        cause: reply.cause,
      });
  }

  /** Tries to become keeper, and again whenever the key is free; returns when the session or the role ends. */
  async #keep(session: Session, ends: AbortSignal): Promise<void> {
    const { store, keys, onKeeping, log, clock } = this.#deps;
    while (!ends.aborted) {
      const reply = await store.attempt({
        compares: [{ key: keys.quotaKeeper, target: 'createRevision', equals: 0 }],
        writes: [{ kind: 'put', key: keys.quotaKeeper, value: this.#encoded(), session }],
        readBack: [],
      });
      if (reply.outcome === 'applied' && !ends.aborted) {
        onKeeping();
        this.#keeping = true;
        log.info({}, 'this arbiter keeps the quotas');
        await untilAborted(ends);
        return;
      }
      // After an unknown outcome the session ends, and with it the key if it was written.
      if (reply.outcome === 'unknown') return;
      await Promise.race([this.#changed.wait(ends), sleep(clock, RETRY.maxMs, ends)]);
    }
  }
}
