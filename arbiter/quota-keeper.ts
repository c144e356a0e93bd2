import type { RoleRecord } from '../src/core/cell/cell.ts';
import type { Compare, Session } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import { Backoff } from '../src/runtime/wait/backoff.ts';
import { Outage } from '../src/runtime/wait/outage.ts';
import { sleep, untilAborted } from '../src/runtime/wait/wait.ts';
import { Table } from '../src/runtime/records/records.ts';
import { Waker } from '../src/runtime/wait/waker.ts';
import { roleCodec } from '../src/wire/records/records.ts';

export interface QuotaKeeperDeps extends Omit<RolePorts, 'metrics'> {
  readonly record: Omit<RoleRecord, 'address'>;
  readonly sessionTtlMs: number;
  /** This arbiter keeps the quotas from now on. @param fence the revision at which it began */
  readonly onKeeping: (fence: number) => void;
}

const RETRY = { firstMs: 200, maxMs: 5_000 };

/**
 * Registers the arbiter, and lets exactly one of several keep the quotas:
 *
 *   no session → registered → keeping → (session lost, or replaced) → no session
 *
 * The keeper holds a key under its session, and ceases to be keeper at the session's own, earlier deadline. That is a hint:
 * what keeps two from granting against one limit (S4.18) is that every grant is written under the condition that the key
 * is still as this keeper wrote it (`grant-records.ts`). So an arbiter that was started again need not wait for the
 * end of its last session: it takes the key of its own name over.
 */
export class QuotaKeeper {
  readonly #deps: QuotaKeeperDeps;
  readonly #holder: Table<RoleRecord>;
  readonly #changed = new Waker();
  readonly #stop = new AbortController();
  #session: Session | null = null;
  /** The revision at which this arbiter became keeper; null: it is not. */
  #fence: number | null = null;
  #replaced = new AbortController();
  #running: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
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

  /** Since which revision this arbiter keeps the quotas; null: it does not. */
  get fence(): number | null {
    return this.registered && !this.#stop.signal.aborted ? this.#fence : null;
  }

  /** The store says that another one keeps the quotas. */
  replaced(fence: number): void {
    if (this.#fence !== fence) return;
    this.#fence = null;
    this.#replaced.abort();
  }

  /** null: this arbiter keeps the quotas; else the id of the keeper, as far as known; empty: none. */
  get otherKeeper(): string | null {
    if (this.fence !== null) return null;
    const holder = this.#holder.get('')?.value.id ?? '';
    return holder === this.#deps.record.id ? '' : holder;
  }

  /** Ends the session: another arbiter may keep the quotas at once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.catch(() => undefined);
    this.#holder.close();
    await this.#session?.close();
  }

  async #run(): Promise<void> {
    const { clock, random, log, store, sessionTtlMs } = this.#deps;
    const signal = this.#stop.signal;
    const backoff = new Backoff(RETRY, random);
    const outage = new Outage({ clock, log }, 'the arbiter cannot register itself');
    while (!signal.aborted) {
      let failure: StoreError | null = null;
      try {
        const session = await store.openSession({ ttlMs: sessionTtlMs });
        this.#session = session;
        await this.#register(session);
        backoff.reset();
        outage.over();
        this.#replaced = new AbortController();
        await this.#keep(session, AbortSignal.any([session.lost, signal, this.#replaced.signal]));
      } catch (error) {
        if (!(error instanceof StoreError) || (!error.retryable && error.code !== 'closed')) throw error;
        failure = error;
      }
      this.#fence = null;
      if (signal.aborted) return;
      await this.#session?.close().catch(() => undefined);
      const delayMs = backoff.nextMs();
      if (failure !== null) outage.failed(failure, delayMs);
      await sleep(clock, delayMs, signal);
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
        compares: [this.#whileFree()],
        writes: [{ kind: 'put', key: keys.quotaKeeper, value: this.#encoded(), session }],
        readBack: [],
      });
      if (reply.outcome === 'applied' && !ends.aborted) {
        this.#fence = reply.revision;
        onKeeping(reply.revision);
        log.info({}, 'this arbiter keeps the quotas');
        await untilAborted(ends);
        return;
      }
      // After an unknown outcome the session ends, and with it the key if it was written.
      if (reply.outcome === 'unknown') return;
      await Promise.race([this.#changed.wait(ends), sleep(clock, RETRY.maxMs, ends)]);
    }
  }

  /** Nobody keeps the quotas, or an earlier life of this arbiter. */
  #whileFree(): Compare {
    const { keys, record } = this.#deps;
    const holder = this.#holder.get('');
    return holder?.value.id === record.id
      ? { key: keys.quotaKeeper, target: 'modRevision', equals: holder.modRevision }
      : { key: keys.quotaKeeper, target: 'createRevision', equals: 0 };
  }
}
