import type { ArbiterClient } from '../src/clients/arbiter-client.ts';
import type { RoleRecord } from '../src/core/cell/cell.ts';
import type { TableRow } from '../src/runtime/records/records.ts';
import { Table } from '../src/runtime/records/records.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import { roleCodec } from '../src/wire/records/records.ts';
import { TICKET_USABLE_MS } from './report-lag.ts';

export interface OtherArbitersDeps extends Pick<RolePorts, 'store' | 'keys' | 'clock'> {
  /** This arbiter's. */
  readonly id: string;
  readonly client: ArbiterClient;
  /** What a host's report takes at most. */
  readonly lagMs: () => number;
}

/**
 * Who else could grant in a namespace before its first quota. An arbiter that lives says itself when nothing of that is
 * outstanding; what one granted whose life has ended is known when it has expired.
 */
export class OtherArbiters {
  readonly ready: Promise<void>;
  readonly #deps: OtherArbitersDeps;
  readonly #rows: Table<RoleRecord>;
  /** When the last life of another one ended, or may have, by monotonic time: before this one began nothing is known. */
  #endedMs: number;

  constructor(deps: OtherArbitersDeps) {
    this.#deps = deps;
    this.#endedMs = deps.clock.monotonicMs();
    this.#rows = new Table(deps.store, deps.keys.role('arbiter', ''), roleCodec, {
      onChange: (id, now, before) => {
        const isEnd = before !== undefined && now?.value.startedAtMs !== before.value.startedAtMs;
        if (id !== deps.id && isEnd) this.#endedMs = deps.clock.monotonicMs();
      },
    });
    this.ready = this.#rows.ready;
  }

  close(): void {
    this.#rows.close();
  }

  /** Until when tickets of arbiters that are gone can be used, by monotonic time. */
  get usableUntilMs(): number {
    return this.#endedMs + TICKET_USABLE_MS;
  }

  /** When their use is visible. */
  get expiredMs(): number {
    return this.usableUntilMs + this.#deps.lagMs();
  }

  get areNone(): boolean {
    return this.#others().length === 0;
  }

  /** Do all that live know the namespace's quota, and have nothing outstanding in it? */
  async areDone(namespace: string): Promise<boolean> {
    const answers = this.#others().map(async ([, { value }]) => {
      const listing = await this.#deps.client.grants(value.address);
      const own = listing?.namespaces.find((one) => one.namespace === namespace);
      return own !== undefined && own.quota !== null && own.granted.allocations === 0;
    });
    return (await Promise.all(answers)).every((isDone) => isDone);
  }

  #others(): readonly (readonly [string, TableRow<RoleRecord>])[] {
    return [...this.#rows.rows()].filter(([id]) => id !== this.#deps.id);
  }
}
