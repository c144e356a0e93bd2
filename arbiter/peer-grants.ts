import type { Claim } from '../src/core/cell/claim.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import { RecordError } from '../src/wire/wire.ts';
import { allocationCodec } from '../src/wire/records/records.ts';
import { GRANT_HELD_MS } from './grant-book.ts';

export type PeerGrantsDeps = Pick<RolePorts, 'store' | 'keys' | 'clock' | 'log'>;

/** After the wait, the cell's allocations are read within about this time. */
const READ_SOON_MS = 1_000;

/**
 * Grants that other arbiters gave and that this arbiter's book does not have. For each namespace:
 *
 *   waiting: their tickets may still be used → read what was committed → known
 *
 * After the wait every use of them is reported, but for hosts that are silent. Nothing starts before its allocation is
 * committed, so what is committed to a silent host and not reported counts as granted here. Otherwise a successor could
 * give away what already runs on a host that is cut off.
 */
export class PeerGrants {
  readonly #deps: PeerGrantsDeps;
  /** Until when they may be used, by monotonic time: in all namespaces, and by namespace. */
  #untilMs: number;
  readonly #untilIn = new Map<string, number>();
  readonly #known = new Set<string>();
  readonly #reading = new Set<string>();

  constructor(deps: PeerGrantsDeps) {
    this.#deps = deps;
    this.#untilMs = deps.clock.monotonicMs() + GRANT_HELD_MS;
  }

  /** A predecessor's grants may be out. */
  waitEverywhere(): void {
    this.#untilMs = this.#deps.clock.monotonicMs() + GRANT_HELD_MS;
    this.#known.clear();
  }

  /** Other arbiters may have granted in this namespace until now. */
  wait(namespace: string): void {
    this.#untilIn.set(namespace, this.#deps.clock.monotonicMs() + GRANT_HELD_MS);
    this.#known.delete(namespace);
  }

  /** No other arbiter can have granted in this namespace since the last `waitEverywhere` ended. */
  none(namespace: string): void {
    if (this.#waitMs(namespace) === 0) this.#known.add(namespace);
  }

  /** How long to wait before anything may be granted in the namespace; 0: nothing is unknown. */
  holdMs(namespace: string): number {
    if (this.#known.has(namespace)) return 0;
    return Math.max(READ_SOON_MS, this.#waitMs(namespace));
  }

  /** Reads the namespaces whose wait is over, and passes each committed claim in them on before they count as known. */
  inherit(namespaces: Iterable<string>, take: (namespace: string, claim: Claim) => void): void {
    for (const namespace of namespaces) {
      const isOver =
        !this.#known.has(namespace) && !this.#reading.has(namespace) && this.#waitMs(namespace) === 0;
      if (isOver) void this.#read(namespace, take);
    }
  }

  #waitMs(namespace: string): number {
    const untilMs = Math.max(this.#untilMs, this.#untilIn.get(namespace) ?? 0);
    return Math.ceil(Math.max(0, untilMs - this.#deps.clock.monotonicMs()));
  }

  /** Never rejects: what fails is tried again with the next sweep. */
  async #read(namespace: string, take: (namespace: string, claim: Claim) => void): Promise<void> {
    const { store, keys, log } = this.#deps;
    this.#reading.add(namespace);
    try {
      const { entries } = await store.list(`${keys.allocations}${namespace}/`);
      // During the read the namespace may have become unknown again.
      if (this.#waitMs(namespace) > 0) return;
      for (const { value } of entries.values()) take(namespace, allocationCodec.decode(value));
      this.#untilIn.delete(namespace);
      this.#known.add(namespace);
    } catch (error) {
      if (!(error instanceof StoreError) && !(error instanceof RecordError)) throw error;
      log.warn(
        { namespace, error },
        'cannot read what was committed: nothing is granted against the quota yet',
      );
    } finally {
      this.#reading.delete(namespace);
    }
  }
}
