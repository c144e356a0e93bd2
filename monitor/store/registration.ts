import type { RoleRecord } from '../../src/core/cell/cell.ts';
import type { Session } from '../../src/ports/cell-store.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { Outage } from '../../src/runtime/wait/outage.ts';
import { sleep, untilAborted } from '../../src/runtime/wait/wait.ts';
import { roleCodec } from '../../src/wire/records/records.ts';

export interface RegistrationDeps extends Omit<RolePorts, 'metrics'> {
  readonly record: RoleRecord;
}

/** How long other roles may take this monitor for alive after its end. */
const SESSION_TTL_MS = 5_000;
const RETRY = { firstMs: 100, maxMs: 3_000 };

/**
 * Keeps `roles/monitor/<id>` in the store while this process lives, under session after session. Writes of the reaper belong
 * to the session: after its loss the next sweep reads anew.
 */
export class Registration {
  readonly #deps: RegistrationDeps;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #session: AbortSignal = AbortSignal.abort();
  #awaySinceMs: number | null = null;

  constructor(deps: RegistrationDeps) {
    this.#deps = deps;
    this.#ended = this.#keep();
  }

  /** Aborted when the session under which this monitor is registered is lost, and while there is none. */
  get session(): AbortSignal {
    return this.#session;
  }

  /** Since when the store does not answer, as far as it shows here: within the TTL of the session; null: it does. */
  get storeAwaySinceMs(): number | null {
    return this.#awaySinceMs;
  }

  /** Removes the registration, if the store can be reached. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #keep(): Promise<void> {
    const { store, clock, random, log } = this.#deps;
    const backoff = new Backoff(RETRY, random);
    const stop = this.#stop.signal;
    const outage = new Outage({ clock, log }, 'the monitor cannot register itself');
    while (!stop.aborted) {
      let session: Session | null = null;
      let failure: unknown = null;
      try {
        session = await store.openSession({ ttlMs: SESSION_TTL_MS });
        this.#awaySinceMs = null;
        if (await this.#register(session)) {
          backoff.reset();
          outage.over();
          this.#session = session.lost;
          await untilAborted(session.lost, stop);
          this.#isAway();
        }
      } catch (error) {
        failure = error;
        this.#isAway();
      }
      this.#session = AbortSignal.abort();
      await session?.close().catch(() => undefined);
      const delayMs = backoff.nextMs();
      if (failure !== null && !stop.aborted) outage.failed(failure, delayMs);
      await sleep(clock, delayMs, stop);
    }
  }

  #isAway(): void {
    this.#awaySinceMs ??= Math.round(this.#deps.clock.nowMs());
  }

  /** @returns false while an earlier process of this id still counts as alive, or the outcome is not known */
  async #register(session: Session): Promise<boolean> {
    const { store, keys, record } = this.#deps;
    const key = keys.role(record.kind, record.id);
    const reply = await store.attempt({
      compares: [{ key, target: 'createRevision', equals: 0 }],
      writes: [{ kind: 'put', key, value: roleCodec.encode(record), session }],
      readBack: [],
    });
    return reply.outcome === 'applied';
  }
}
