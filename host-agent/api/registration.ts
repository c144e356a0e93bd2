import type { Host } from '../../src/core/host/host.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Attempt, CellStore, Entry, Session } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { Outage } from '../../src/runtime/wait/outage.ts';
import { sleep, untilAborted } from '../../src/runtime/wait/wait.ts';
import type { AliveRecord } from '../../src/wire/host-files/host-files.ts';
import { aliveCodec } from '../../src/wire/host-files/host-files.ts';
import { hostCodec } from '../../src/wire/records/records.ts';

/** Another agent lives under this host's id: two of them must never both speak for it. */
export class HostTakenError extends Error {
  override readonly name = 'HostTakenError';
}

/** A host that is to be known in the cell. */
export interface Registrant {
  readonly host: Host;
  readonly stateId: string;
  /** Takes a new incarnation above the given one. */
  raiseIncarnation(above: number): Promise<void>;
}

export interface RegistrarDeps {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How long a host counts as alive after its agent was last heard by the store. */
  readonly aliveTtlMs: number;
}

const RETRY = { firstMs: 100, maxMs: 5_000 };

/**
 * Keeps hosts registered: `hosts/<id>` for good, `alive/<id>` under one session for all of them. What runs on them does not
 * depend on it: while the store is away, the agents go on (rule 6).
 */
export class Registrar {
  readonly #deps: RegistrarDeps;
  readonly #registrants: readonly Registrant[];
  readonly #outage: Outage;
  readonly #stop = new AbortController();
  /** Incarnation that we wrote for each host: a record with that one is our own. */
  readonly #written = new Map<string, number>();
  #session: Session | null = null;
  /** Aborted when a host says something else of itself than what is registered. */
  #stale = new AbortController();
  #registered = false;
  #running: Promise<void> | null = null;

  constructor(deps: RegistrarDeps, registrants: readonly Registrant[]) {
    this.#deps = deps;
    this.#outage = new Outage(deps, 'cannot register: the cell does not know this host');
    this.#registrants = registrants;
  }

  get registered(): boolean {
    return this.#registered;
  }

  /** When the cell was surely last in contact, by the monotonic clock; null: never since this start. */
  get contactAtMs(): number | null {
    return this.#session?.renewedAtMs ?? null;
  }

  /**
   * Registers, then keeps it so.
   * @returns when registered for the first time, or when the store did not answer: then it goes on trying
   * @throws HostTakenError
   */
  async start(): Promise<void> {
    try {
      await this.#register();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#outage.failed(error, 0);
    }
    this.#running = this.#keep();
  }

  /** A host says something else of itself now: registers it again. */
  refresh(): void {
    this.#stale.abort();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#session?.close().catch(() => undefined);
  }

  async #keep(): Promise<void> {
    const signal = this.#stop.signal;
    const backoff = new Backoff(RETRY, this.#deps.random);
    while (!signal.aborted) {
      if (this.#registered && this.#session !== null)
        await untilAborted(this.#session.lost, this.#stale.signal, signal);
      this.#stale = new AbortController();
      if (signal.aborted) return;
      this.#registered = false;
      try {
        await this.#register();
        backoff.reset();
        this.#outage.over();
      } catch (error) {
        const delayMs = backoff.nextMs();
        this.#outage.failed(error, delayMs);
        await sleep(this.#deps.clock, delayMs, signal);
      }
    }
  }

  async #register(): Promise<void> {
    if (this.#session === null || this.#session.lost.aborted)
      this.#session = await this.#deps.store.openSession({ ttlMs: this.#deps.aliveTtlMs });
    const size = Math.max(1, Math.floor(this.#deps.store.limits.operationsMax / 2));
    for (let i = 0; i < this.#registrants.length; i += size)
      await this.#registerSome(this.#registrants.slice(i, i + size), this.#session);
    // A session that was lost meanwhile sends nothing more, and the next round begins with another one.
    this.#registered = !this.#session.lost.aborted;
  }

  /** Until an attempt is known to have been done: a refused or unknown one is read again, and made anew. */
  async #registerSome(some: readonly Registrant[], session: Session): Promise<void> {
    const { store, keys, clock, random } = this.#deps;
    const backoff = new Backoff(RETRY, random);
    const over = AbortSignal.any([this.#stop.signal, session.lost]);
    while (!over.aborted) {
      const found = await store.read(some.flatMap(({ host }) => [keys.host(host.id), keys.aliveOf(host.id)]));
      for (const one of some) await this.#makeWay(one, found.entries);
      if (over.aborted) return;
      const reply = await store.attempt(this.#attemptFor(some, found.entries, session));
      if (reply.outcome === 'applied') {
        for (const { host } of some) this.#written.set(host.id, host.incarnation);
        return;
      }
      await sleep(clock, backoff.nextMs(), over);
    }
  }

  /** @throws HostTakenError */
  async #makeWay(one: Registrant, found: ReadonlyMap<string, Entry>): Promise<void> {
    const { keys } = this.#deps;
    const { id } = one.host;
    const alive = found.get(keys.aliveOf(id));
    const holder = alive === undefined ? null : readAlive(alive.value);
    if (holder !== null && holder.stateId !== one.stateId)
      throw new HostTakenError(
        `another agent is alive as host ${id} at ${holder.address}, with another state folder: ` +
          `stop it, or give this one another id (if it has just ended, wait ${String(Math.ceil(this.#deps.aliveTtlMs / 1000))} s)`,
      );
    const record = found.get(keys.host(id));
    const registered = record === undefined ? 0 : hostCodec.decode(record.value).incarnation;
    // Our own record, also when the answer to the attempt that wrote it was lost.
    if (this.#written.get(id) === registered || holder?.incarnation === one.host.incarnation) return;
    if (registered >= one.host.incarnation) await one.raiseIncarnation(registered);
  }

  #attemptFor(some: readonly Registrant[], found: ReadonlyMap<string, Entry>, session: Session): Attempt {
    const { keys, clock } = this.#deps;
    const sinceMs = Math.round(clock.nowMs());
    return {
      compares: some.flatMap(({ host }) =>
        [keys.host(host.id), keys.aliveOf(host.id)].map((key) => ({
          key,
          target: 'modRevision' as const,
          equals: found.get(key)?.modRevision ?? 0,
        })),
      ),
      writes: some.flatMap(({ host, stateId }) => [
        { kind: 'put' as const, key: keys.host(host.id), value: hostCodec.encode(host) },
        {
          kind: 'put' as const,
          key: keys.aliveOf(host.id),
          value: aliveCodec.encode({
            stateId,
            incarnation: host.incarnation,
            address: host.address,
            sinceMs,
          }),
          session,
        },
      ]),
      readBack: [],
    };
  }
}

/** An unreadable key names no agent that could be asked to stop. */
function readAlive(text: string): AliveRecord | null {
  try {
    return aliveCodec.decode(text);
  } catch {
    return null;
  }
}
