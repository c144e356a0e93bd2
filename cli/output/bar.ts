import type { Terminal } from '../command/terminal.ts';
import { duration } from '../../src/wire/values/words.ts';

const BAR_WIDTH = 24;
/** A line that changes more often than this cannot be read. */
const REDRAW_MS = 200;

/** A progress bar on the last line of a terminal. Without a terminal nothing is drawn. */
export class Bar {
  readonly #terminal: Terminal;
  readonly #beganMs: number;
  #drawnMs = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#beganMs = terminal.nowMs();
  }

  /** Since it began. */
  get spentMs(): number {
    return this.#terminal.nowMs() - this.#beganMs;
  }

  /** @param share how much is done, from 0 to 1 */
  show(share: number, counts: string): void {
    const nowMs = this.#terminal.nowMs();
    if (!this.#terminal.interactive || nowMs - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = nowMs;
    const part = Math.min(1, share);
    const full = Math.round(part * BAR_WIDTH);
    const leftMs = (this.spentMs / part) * (1 - part);
    const left = part > 0.01 && part < 1 ? `, about ${duration(leftMs)} left` : '';
    const bar = `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}]`;
    this.#terminal.err(`\r\u001b[K${bar} ${(100 * part).toFixed(0).padStart(3)} %  ${counts}${left}`);
  }

  /** A line of its own, above the bar. */
  say(line: string): void {
    this.clear();
    this.#terminal.err(`${line}\n`);
  }

  clear(): void {
    if (this.#terminal.interactive) this.#terminal.err('\r\u001b[K');
  }
}
