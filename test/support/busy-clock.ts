import type { Clock } from '../../src/ports/clock.ts';
import { ManualClock } from './manual-clock.ts';

/** A manual clock on which work in memory takes time, as the test says, and that counts the turns which that work leaves to others. */
export class BusyClock implements Clock {
  readonly manual = new ManualClock();
  spentMs = 0;
  turns = 0;

  spend(ms: number): void {
    this.spentMs += ms;
  }

  nowMs(): number {
    return this.manual.nowMs() + this.spentMs;
  }

  monotonicMs(): number {
    return this.manual.monotonicMs() + this.spentMs;
  }

  after(delayMs: number, wake: () => void): () => void {
    if (delayMs === 0) this.turns += 1;
    return this.manual.after(delayMs, wake);
  }
}
