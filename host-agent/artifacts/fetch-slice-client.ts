import type { RoleRecord } from '../../src/core/cell/cell.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { ArbiterClient } from '../../src/clients/arbiter-client.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { FetchSlice } from '../../src/wire/api/arbiter-api.ts';
import { roleCodec } from '../../src/wire/records/records.ts';

export interface FetchSliceClientDeps {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly http: HttpClient;
}

/** For one question to one arbiter. */
const TIMEOUT_MS = 2_000;

/** Asks the arbiters that the store lists for the rate at which this host may fetch. They are followed from the first fetch on. */
export class FetchSliceClient {
  readonly #deps: FetchSliceClientDeps;
  readonly #client: ArbiterClient;
  #arbiters: Table<RoleRecord> | null = null;
  #known: Promise<unknown> = Promise.resolve();
  /** Who answered last: the one that keeps the rates. */
  #keeper = '';

  constructor(deps: FetchSliceClientDeps) {
    this.#deps = deps;
    this.#client = new ArbiterClient(deps.http, { timeoutMs: TIMEOUT_MS });
  }

  /** @returns null: no arbiter answers */
  async ask(attributes: Readonly<Record<string, string>>): Promise<FetchSlice | null> {
    const { store, keys, clock } = this.#deps;
    if (this.#arbiters === null) {
      this.#arbiters = new Table(store, keys.role('arbiter', ''), roleCodec);
      this.#known = Promise.race([this.#arbiters.ready.catch(() => undefined), sleep(clock, TIMEOUT_MS)]);
    }
    await this.#known;
    const known = [...this.#arbiters.rows()].map(([, { value }]) => value.address);
    const addresses = known.includes(this.#keeper)
      ? [this.#keeper, ...known.filter((one) => one !== this.#keeper)]
      : known;
    for (const address of addresses) {
      const slice = await this.#client.fetchSlice(address, { attributes });
      if (slice === null) continue;
      this.#keeper = address;
      return slice;
    }
    return null;
  }

  close(): void {
    this.#arbiters?.close();
  }
}
