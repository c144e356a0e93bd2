import type { Missed } from '../../src/runtime/stream/stream.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';

/** How many events of each kind a reader misses, of those that it may see. */
export class MissedEvents implements Missed<CellEvent | null> {
  readonly #sees: (event: CellEvent) => boolean;
  readonly #gap: (missed: Readonly<Record<string, number>>) => CellEvent;
  readonly #counts = new Map<string, number>();

  /** @param gap the event that tells them */
  constructor(
    sees: (event: CellEvent) => boolean,
    gap: (missed: Readonly<Record<string, number>>) => CellEvent,
  ) {
    this.#sees = sees;
    this.#gap = gap;
  }

  add(event: CellEvent | null): void {
    if (event !== null && this.#sees(event))
      this.#counts.set(event.kind, (this.#counts.get(event.kind) ?? 0) + 1);
  }

  /** @returns null, a heartbeat: it missed nothing */
  summary(): CellEvent | null {
    return this.#counts.size === 0 ? null : this.#gap(Object.fromEntries(this.#counts));
  }
}
