import type { Condition } from './held-conditions.ts';

/** More than a late message explains; tickets and leases bear it for long. */
const CLOCK_OFF_MS = 2_000;
/** One late message is no other clock. */
const CLOCK_OFF_FOR_MS = 60_000;

/** How far each host's clock was ahead of this monitor's when it last said what time it is. */
export class HostClocks {
  readonly #aheadMs = new Map<string, number>();

  /** @param aheadMs negative: behind, or the message was late */
  heard(host: string, aheadMs: number): void {
    if (Math.abs(aheadMs) > CLOCK_OFF_MS) this.#aheadMs.set(host, aheadMs);
    else this.#aheadMs.delete(host);
  }

  forget(host: string): void {
    this.#aheadMs.delete(host);
  }

  *conditions(): IterableIterator<Condition> {
    for (const [subject, aheadMs] of this.#aheadMs) {
      const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
      const detail = `its clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the monitor's: a ticket may be refused as expired`;
      yield { kind: 'clock', subject, detail, afterMs: CLOCK_OFF_FOR_MS };
    }
  }
}
