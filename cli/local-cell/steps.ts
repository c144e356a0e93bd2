/** The step list of a start: one line a step, with its time. */
export class Steps {
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  line(text = ''): void {
    this.#write(`${text}\n`);
  }

  /** Runs the step and prints its name, its time and what `describe` makes of its result. */
  async step<T>(name: string, act: () => Promise<T>, describe: (result: T) => string): Promise<T> {
    const startMs = performance.now();
    const result = await act();
    const seconds = ((performance.now() - startMs) / 1000).toFixed(2);
    this.line(`  ${name.padEnd(12)} ${seconds.padStart(6)} s  ${describe(result)}`);
    return result;
  }
}
