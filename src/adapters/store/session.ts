import type { Session } from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';

/** Three renewals in a TTL: two may be lost without harm. */
const RENEWALS_PER_TTL = 3;
/**
 * The session is declared lost this part of the TTL after the last answered renewal, counted from when it was sent. The
 * server counts from when the renewal arrived, and expires the lease later than the TTL: so the holder is always first.
 */
const OWN_DEADLINE_FRACTION = 0.8;

export interface RenewedSessionParts {
  readonly id: string;
  readonly ttlMs: number;
  /** When the lease was asked for, by the holder's monotonic clock. */
  readonly sentAtMs: number;
  readonly clock: Clock;
  /** By which its loss is found. Default: `clock`. */
  readonly deadlines?: Clock;
  /**
   * Resolves when a renewal that was sent at this call, or earlier, is answered; false: the lease is gone. May never settle.
   * Rejects when the store cannot be reached.
   */
  readonly renew: () => Promise<boolean>;
  readonly revoke: () => Promise<void>;
  readonly ended: () => void;
}

/** A lease that this process renews, through calls that may be lost. */
export class RenewedSession implements Session {
  readonly id: string;
  readonly #parts: RenewedSessionParts;
  readonly #lost = new AbortController();
  #cancelRenewal: () => void = () => undefined;
  #cancelDeadline: () => void = () => undefined;
  #renewedAtMs = 0;

  constructor(parts: RenewedSessionParts) {
    this.id = parts.id;
    this.#parts = parts;
    this.#extend(parts.sentAtMs);
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
    try {
      await this.#parts.revoke();
    } catch {
      // The store cannot be reached, or has ended the lease itself: either way the keys go when the lease expires.
    }
  }

  /** Stops renewing, as if the process had died: the keys stay until the lease expires. */
  abandon(): void {
    this.#cancelRenewal();
    this.#cancelDeadline();
    this.#parts.ended();
    this.#lost.abort();
  }

  #renewLater(): void {
    const { clock, ttlMs } = this.#parts;
    this.#cancelRenewal = clock.after(ttlMs / RENEWALS_PER_TTL, () => {
      void this.#renew(clock.monotonicMs());
      this.#renewLater();
    });
  }

  async #renew(sentAtMs: number): Promise<void> {
    try {
      const isThere = await this.#parts.renew();
      if (this.#lost.signal.aborted) return;
      if (isThere) this.#extend(sentAtMs);
      else this.abandon();
    } catch {
      // The next renewal tries again; until then the own deadline runs.
    }
  }

  #extend(sentAtMs: number): void {
    this.#renewedAtMs = sentAtMs;
    const { clock, deadlines = clock, ttlMs } = this.#parts;
    this.#cancelDeadline();
    const leftMs = sentAtMs + ttlMs * OWN_DEADLINE_FRACTION - clock.monotonicMs();
    this.#cancelDeadline = deadlines.after(Math.max(0, leftMs), () => this.abandon());
  }
}
