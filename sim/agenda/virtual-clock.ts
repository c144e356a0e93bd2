import type { Clock } from '../../src/ports/clock.ts';
import type { Agenda } from './agenda.ts';
import { Life } from './life.ts';

/** Some day; what day it is makes no difference to anybody. */
export const WALL_START_MS = 1_700_000_000_000;

/** No real timer is finer. Without it what rounding left of a delay could be waited for again and again. */
const TICK_MS = 0.001;

/** A machine's clocks. They may run fast or slow against the true (virtual) time, and the wall clock may be set. */
export class Timekeeper {
  readonly #agenda: Agenda;
  #wallOffsetMs: number;
  #rate = 1;
  #rateSinceMs = 0;
  #elapsedMs = 0;

  constructor(agenda: Agenda, wallOffsetMs = 0) {
    this.#agenda = agenda;
    this.#wallOffsetMs = WALL_START_MS + wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs + (this.#agenda.nowMs - this.#rateSinceMs) * this.#rate;
  }

  /** Whole milliseconds, as of a real clock. */
  nowMs(): number {
    return Math.floor(this.#wallOffsetMs + this.monotonicMs());
  }

  /** The wall clock is set forward, or back; the monotonic one knows nothing of it. */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** From now on this many seconds pass on this machine in a true one. Timers already set keep their instant. */
  setRate(rate: number): void {
    this.#elapsedMs = this.monotonicMs();
    this.#rateSinceMs = this.#agenda.nowMs;
    this.#rate = rate;
  }

  /** What a delay by this machine's clock is in true time. */
  trueDelayMs(delayMs: number): number {
    return delayMs > 0 ? Math.max(TICK_MS, delayMs / this.#rate) : 0;
  }
}

/** The clock port of one life. */
export class VirtualClock implements Clock {
  readonly #agenda: Agenda;
  readonly #life: Life;
  readonly #time: Timekeeper;

  /**
   * @param life whose timers these are; they fall with it
   * @param time the machine's clocks; by default true ones
   */
  constructor(agenda: Agenda, life = new Life('clock'), time = new Timekeeper(agenda)) {
    this.#agenda = agenda;
    this.#life = life;
    this.#time = time;
  }

  /** Whole milliseconds, as of a real clock. */
  nowMs(): number {
    return this.#time.nowMs();
  }

  monotonicMs(): number {
    return this.#time.monotonicMs();
  }

  after(delayMs: number, wake: () => void): () => void {
    return this.#agenda.after(this.#time.trueDelayMs(delayMs), this.#life, 'timer', wake);
  }
}
