import { duration } from '../output/words.ts';
import type { Terminal } from '../terminal.ts';

const BAR_WIDTH = 24;
/** A line that changes more often than this cannot be read. */
const REDRAW_MS = 200;

/** How far a sweep is: a bar on a terminal, else a line for each finished point. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #total: number;
  readonly #startMs: number;
  #done = 0;
  #drawnMs = 0;

  constructor(terminal: Terminal, total: number) {
    this.#terminal = terminal;
    this.#total = total;
    this.#startMs = terminal.nowMs();
  }

  /** @param part tasks that are under way, as far as they are */
  moved(part: number): void {
    if (!this.#terminal.interactive || this.#terminal.nowMs() - this.#drawnMs < REDRAW_MS) return;
    this.#draw(part);
  }

  finished(what: string): void {
    this.#done += 1;
    if (this.#terminal.interactive) this.#draw(0);
    else this.#terminal.err(`  ${String(this.#done)}/${String(this.#total)}  ${what}\n`);
  }

  /** Leaves the line. */
  end(): void {
    if (this.#terminal.interactive) this.#terminal.err('\r\u001b[K');
  }

  #draw(part: number): void {
    const nowMs = this.#terminal.nowMs();
    this.#drawnMs = nowMs;
    const share = Math.min(1, (this.#done + part) / Math.max(1, this.#total));
    const full = Math.round(share * BAR_WIDTH);
    const spentMs = nowMs - this.#startMs;
    const left = share > 0.01 && share < 1 ? `, about ${duration((spentMs / share) * (1 - share))} left` : '';
    const bar = `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}]`;
    const counts = `${String(this.#done)} of ${String(this.#total)} points`;
    this.#terminal.err(`\r\u001b[K${bar} ${(100 * share).toFixed(0).padStart(3)} %  ${counts}${left}`);
  }
}
