import { Bar } from '../output/bar.ts';
import type { Terminal } from '../terminal.ts';

/** How far a sweep is: a bar on a terminal, else a line for each finished point. */
export class Progress {
  readonly #bar: Bar;
  readonly #isDrawn: boolean;
  readonly #total: number;
  #done = 0;

  constructor(terminal: Terminal, total: number) {
    this.#bar = new Bar(terminal);
    this.#isDrawn = terminal.interactive;
    this.#total = total;
  }

  /** @param part tasks that are under way, as far as they are */
  moved(part: number): void {
    const share = (this.#done + part) / Math.max(1, this.#total);
    this.#bar.show(share, `${String(this.#done)} of ${String(this.#total)} points`);
  }

  finished(what: string): void {
    this.#done += 1;
    if (this.#isDrawn) this.moved(0);
    else this.#bar.say(`  ${String(this.#done)}/${String(this.#total)}  ${what}`);
  }

  /** Leaves the line. */
  end(): void {
    this.#bar.clear();
  }
}
