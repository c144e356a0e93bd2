import type { Life } from '../agenda/life.ts';

/** The server's end of a stream: what it has sent and the network has not yet carried. */
export class Outgoing {
  readonly life: Life;
  readonly #onSent: (last: boolean) => void;
  readonly #onBroken: () => void;
  #gone: AbortController | null = null;
  #unsent: Uint8Array[] = [];
  #done = false;
  /** By the caller, before the end. */
  #isLeft = false;

  /**
   * @param onSaid there is something to carry, for the first time since `take`; `last`: nothing follows
   * @param onBroken its source failed, and the head of the answer is out
   */
  constructor(life: Life, onSaid: (last: boolean) => void, onBroken: () => void) {
    this.life = life;
    this.#onSent = onSaid;
    this.#onBroken = onBroken;
  }

  /** For the route: aborted when the caller went away. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.#isLeft) this.#gone.abort(GONE);
    return this.#gone.signal;
  }

  get done(): boolean {
    return this.#done;
  }

  abort(): void {
    this.#done = true;
    this.#isLeft = true;
    this.#gone?.abort(GONE);
  }

  /** What was sent since the last call. What is sent while something is under way travels with it, as in one packet. */
  take(): readonly Uint8Array[] {
    const unsent = this.#unsent;
    this.#unsent = [];
    return unsent;
  }

  async pump(chunks: AsyncIterable<Uint8Array | string>): Promise<void> {
    const source = chunks[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await source.next();
        if (this.#done) break;
        if (next.done === true) break;
        this.#unsent.push(typeof next.value === 'string' ? Buffer.from(next.value) : next.value);
        if (this.#unsent.length === 1) this.#onSent(false);
      }
    } catch {
      // The caller learns only by a cut connection that this is not the end.
      if (this.#done) return;
      this.#done = true;
      return this.#onBroken();
    }
    void source.return?.();
    if (this.#done) return;
    this.#done = true;
    this.#onSent(true);
  }
}

/** One for all: an abort without a reason makes an error of its own each time, with the stack on which it happened. */
const GONE = new Error('the caller went away');
