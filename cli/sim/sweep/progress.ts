import { Bar } from '../../output/bar.ts';
import type { Terminal } from '../../command/terminal.ts';

/** With so many points, a line for each that is finished says enough. */
const MANY_POINTS = 10;

/** How far a sweep is: a bar on a terminal, else a line for each finished point, and of few points for each tenth of the whole. */
export class Progress {
  readonly #bar: Bar;
  readonly #isDrawn: boolean;
  readonly #total: number;
  #done = 0;
  #tenths = 0;

  constructor(terminal: Terminal, total: number) {
    this.#bar = new Bar(terminal);
    this.#isDrawn = terminal.interactive;
    this.#total = total;
  }

  /** @param part tasks that are under way, as far as they are */
  moved(part: number): void {
    const share = (this.#done + part) / Math.max(1, this.#total);
    this.#bar.show(share, `${String(this.#done)} of ${String(this.#total)} points`);
    const tenths = Math.floor(share * 10);
    if (this.#isDrawn || this.#total >= MANY_POINTS || tenths <= this.#tenths || tenths >= 10) return;
    this.#tenths = tenths;
    this.#bar.say(`  ${String(tenths * 10)} %`);
  }

  finished(what: string): void {
    this.#done += 1;
    if (this.#isDrawn) this.moved(0);
    else this.#bar.say(`  ${String(this.#done)}/${String(this.#total)}  ${what}`);
  }

  /** A line of its own. */
  say(line: string): void {
    this.#bar.say(line);
  }

  /** Leaves the line. */
  end(): void {
    this.#bar.clear();
  }
}
