import { Agenda } from '../../agenda/agenda.ts';
import { Life } from '../../agenda/life.ts';

const MS = 1000;

/** The agenda in seconds, for one life that nothing ends before the horizon. */
export class VirtualTime {
  readonly horizonSeconds: number;
  readonly #agenda = new Agenda();
  readonly #life = new Life('cell');

  constructor(horizonSeconds: number) {
    this.horizonSeconds = horizonSeconds;
  }

  get nowSeconds(): number {
    return this.#agenda.nowMs / MS;
  }

  get events(): number {
    return this.#agenda.events;
  }

  /** What would happen behind the horizon is not kept. */
  after(seconds: number, what: string, run: () => void): void {
    if (this.nowSeconds + seconds > this.horizonSeconds) return;
    this.#agenda.after(seconds * MS, this.#life, what, run);
  }

  /**
   * Lets everything happen up to then.
   * @param stops asked before each event
   * @returns false: stopped; the time is that of the last event
   */
  runTo(seconds: number, stops: () => boolean): boolean {
    do {
      if (stops()) return false;
    } while (this.#agenda.step(seconds * MS));
    return true;
  }
}
