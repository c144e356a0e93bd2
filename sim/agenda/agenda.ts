/**
 * Virtual time. A role waits by an entry in the agenda, under its own life; the driver takes the earliest entry, moves the time to it, and
 * lets all promises settle before the next one. So the same entries give the same run, and ending a life drops all that it waits for.
 *
 * - `life.ts`: one incarnation of an actor, and the entries that belong to it
 * - `agenda-heap.ts`: the entries, the earliest first
 * - `drive.ts`: steps the agenda and lets promises settle between two steps
 * - `virtual-clock.ts`: the clock port on the agenda, with a wall clock that faults may set
 * - `overlay.ts`: settings that faults change for a while
 * - `trace.ts`: a hash over all events, by which two runs are compared
 */
import { AgendaHeap } from './agenda-heap.ts';
import type { AgendaEntry, Life } from './life.ts';

/**
 * Every instant is a multiple of a tick, which adds up without error, and every wait is at least one tick long: a role
 * that waits for the rest of a time finds that it has passed. With plain fractions the rest may be so small that adding it
 * changes nothing, and time would stand still for good.
 */
const TICKS_PER_MS = 1_024;

/** Sees every entry just before it happens. `index` counts from 0. */
export type AgendaObserver = (entry: AgendaEntry, index: number) => void;

/**
 * Virtual time: the entries that are to happen, in order. Time stands still while an entry happens and then jumps to the next
 * one. The driver (`drive.ts`) lets all promises settle between two entries.
 */
export class Agenda {
  readonly #heap = new AgendaHeap();
  readonly #observe: AgendaObserver | undefined;
  #nowMs = 0;
  #orders = 0;
  #events = 0;
  #closed = false;

  constructor(observe?: AgendaObserver) {
    this.#observe = observe;
  }

  /** Virtual milliseconds since the beginning. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** How many entries have happened. */
  get events(): number {
    return this.#events;
  }

  /** When the next entry is due; infinite when there is none. */
  get nextAtMs(): number {
    this.#skip();
    return this.#heap.first?.atMs ?? Infinity;
  }

  /**
   * Enters what is to happen `delayMs` from now (at least 0) in the given life.
   * @returns takes it back; does nothing once it has happened
   */
  after(delayMs: number, life: Life, kind: string, run: () => void, note = ''): () => void {
    if (this.#closed) throw new Error(`${life.actor} acts outside of virtual time: ${kind}`);
    const atMs = this.#nowMs + Math.ceil((delayMs > 0 ? delayMs : 0) * TICKS_PER_MS) / TICKS_PER_MS;
    const entry: AgendaEntry = { atMs, order: this.#orders++, life, kind, note, run };
    this.#heap.push(entry);
    return () => {
      entry.run = null;
    };
  }

  /**
   * Lets the next entry happen if it is due by `untilMs`.
   * @returns false: there is none; the time is `untilMs` then, if that is finite
   */
  step(untilMs = Infinity): boolean {
    for (;;) {
      this.#skip();
      const entry = this.#heap.first;
      if (entry === undefined || entry.atMs > untilMs) {
        if (untilMs !== Infinity && untilMs > this.#nowMs) this.#nowMs = untilMs;
        return false;
      }
      this.#heap.pop();
      if (entry.atMs > this.#nowMs) this.#nowMs = entry.atMs;
      if (entry.life.hold(entry)) continue;
      const { run } = entry;
      entry.run = null;
      this.#observe?.(entry, this.#events);
      this.#events += 1;
      // The observer may have ended the life: that is how a crash just before an event is made.
      if (!entry.life.ended) run?.();
      return true;
    }
  }

  /** Ends a pause: what was held back happens now, in its order. */
  resume(life: Life): void {
    for (const entry of life.resume()) {
      const { run } = entry;
      if (run !== null)
        this.#heap.push({ ...entry, atMs: this.#nowMs, order: this.#orders++, run: () => entry.run?.() });
    }
  }

  /** While closed, a new entry is an error: between two batches of the driver a role can act by real time only. */
  set closed(closed: boolean) {
    this.#closed = closed;
  }

  #skip(): void {
    for (;;) {
      const entry = this.#heap.first;
      if (entry === undefined || (entry.run !== null && !entry.life.ended)) return;
      this.#heap.pop();
    }
  }
}
