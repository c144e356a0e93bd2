import type { Session } from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MemoryCell } from './cell.ts';

/** Three renewals in a TTL: two may be lost without harm. */
const RENEWALS_PER_TTL = 3;
/** We give ourselves up this part of the TTL after the last renewal: before the store can do it. */
const OWN_DEADLINE_FRACTION = 0.8;

export interface MemorySessionOptions {
  readonly cell: MemoryCell;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly reachable: () => boolean;
  readonly ended: () => void;
}

export class MemorySession implements Session {
  readonly id: string;
  readonly #options: MemorySessionOptions;
  readonly #lost = new AbortController();
  #cancelRenewal: () => void = () => undefined;
  #cancelDeadline: () => void = () => undefined;
  #renewedAtMs = 0;

  constructor(options: MemorySessionOptions) {
    this.#options = options;
    this.id = options.cell.grantLease(options.ttlMs);
    this.#renewed();
    this.#renewLater();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get renewedAtMs(): number {
    return this.#renewedAtMs;
  }

  async close(): Promise<void> {
    this.abandon();
    if (this.#options.reachable()) this.#options.cell.endLease(this.id);
  }

  /** Stops renewing, as if the process had died: the keys stay until the lease runs out. */
  abandon(): void {
    this.#cancelRenewal();
    this.#cancelDeadline();
    this.#options.ended();
    this.#lost.abort();
  }

  #renewLater(): void {
    this.#cancelRenewal = this.#options.clock.after(this.#options.ttlMs / RENEWALS_PER_TTL, () => {
      if (!this.#options.reachable()) this.#renewLater();
      else if (this.#options.cell.renewLease(this.id)) {
        this.#renewed();
        this.#renewLater();
      } else this.abandon();
    });
  }

  #renewed(): void {
    this.#renewedAtMs = this.#options.clock.monotonicMs();
    this.#cancelDeadline();
    this.#cancelDeadline = this.#options.clock.after(this.#options.ttlMs * OWN_DEADLINE_FRACTION, () =>
      this.abandon(),
    );
  }
}
