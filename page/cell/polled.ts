import { Pace } from '../figures/pace.ts';
import { Watchable } from './signal.ts';

export interface Loaded<T> {
  /** null: nothing came yet. */
  readonly value: T | null;
  /** Why the last try failed; null: it did not. What came before it is still shown. */
  readonly error: Error | null;
}

/** Something that is loaded again and again, never twice at once, and not while nobody looks. */
export class Polled<T> {
  readonly state = new Watchable<Loaded<T>>({ value: null, error: null });
  readonly #load: (signal: AbortSignal) => Promise<T>;
  readonly #everyMs: number;
  readonly #pace: Pace;
  readonly #ended = new AbortController();
  #timer: { readonly id: ReturnType<typeof setTimeout>; readonly atMs: number } | null = null;
  #isLoading = false;
  #wanted = false;

  constructor(everyMs: number, load: (signal: AbortSignal) => Promise<T>) {
    this.#everyMs = everyMs;
    this.#pace = new Pace(everyMs);
    this.#load = load;
    void this.#run();
  }

  /** Something happened: it is loaded as soon as the pause allows. */
  poke(): void {
    if (this.#isLoading) this.#wanted = true;
    else this.#by(this.#pace.soonAtMs);
  }

  /** At once: its user did something. */
  now(): void {
    if (this.#isLoading) this.#wanted = true;
    else void this.#run();
  }

  end(): void {
    this.#ended.abort();
    this.#forget();
  }

  async #run(): Promise<void> {
    this.#forget();
    if (this.#ended.signal.aborted) return;
    if (document.hidden) return this.#by(performance.now() + this.#everyMs);
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
    this.#pace.loaded(startMs, performance.now());
    this.#by(this.#wanted ? this.#pace.soonAtMs : this.#pace.dueAtMs);
  }

  /** Not later than that. */
  #by(atMs: number): void {
    if (this.#ended.signal.aborted || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    this.#forget();
    const id = setTimeout(() => void this.#run(), Math.max(0, atMs - performance.now()));
    this.#timer = { id, atMs };
  }

  #forget(): void {
    if (this.#timer !== null) clearTimeout(this.#timer.id);
    this.#timer = null;
  }
}
