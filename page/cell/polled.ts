import { Watchable } from './signal.ts';

export interface Loaded<T> {
  /** null: nothing came yet. */
  readonly value: T | null;
  /** Why the last try failed; null: it did not. What came before it is still shown. */
  readonly error: Error | null;
}

/** The pause between two loads, as a multiple of what one takes: large cells are asked less often. */
const PAUSE_FACTOR = 8;
const PAUSE_MAX_MS = 30_000;

/** Something that is loaded again and again, never twice at once, and not while nobody looks. */
export class Polled<T> {
  readonly state = new Watchable<Loaded<T>>({ value: null, error: null });
  readonly #load: (signal: AbortSignal) => Promise<T>;
  readonly #everyMs: number;
  readonly #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLoading = false;
  #wanted = false;
  #restMs = 0;

  constructor(everyMs: number, load: (signal: AbortSignal) => Promise<T>) {
    this.#everyMs = everyMs;
    this.#load = load;
    void this.#run();
  }

  /** Something happened: it is loaded as soon as the pause allows. */
  poke(): void {
    if (this.#isLoading) this.#wanted = true;
    else this.#after(this.#restMs);
  }

  /** At once: its user did something. */
  now(): void {
    if (this.#isLoading) this.#wanted = true;
    else void this.#run();
  }

  end(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#ended.signal.aborted) return;
    if (document.hidden) return this.#after(this.#everyMs);
    this.#isLoading = true;
    this.#wanted = false;
    const startMs = performance.now();
    const { signal } = this.#ended;
    const next = await this.#load(signal).then(
      (value) => ({ value, error: null }),
      (error: unknown) => ({ ...this.state.value, error: error as Error }),
    );
    this.#isLoading = false;
    if (signal.aborted) return;
    this.state.set(next);
    this.#restMs = Math.min(PAUSE_MAX_MS, (performance.now() - startMs) * PAUSE_FACTOR);
    this.#after(Math.max(this.#restMs, this.#wanted ? 0 : this.#everyMs));
  }

  #after(ms: number): void {
    if (this.#ended.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), ms);
  }
}
