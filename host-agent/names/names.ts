/**
 * Names on a host: those that its tasks use or somebody on it asked for, followed at a monitor. `names.ts` keeps what was told, also when no
 * monitor answers any more; `name-follower.ts` holds the stream to a monitor; `dns-answers.ts` says it in DNS; `host-names.ts` joins
 * them. `task-endpoints.ts` puts it into the environment and the files of tasks.
 */
import type { Endpoint } from '../../src/core/names/endpoints.ts';
import { serving } from '../../src/core/names/endpoints.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { NameChange } from '../../src/wire/api/names-api.ts';
import { NAMES_FOLLOWED_MAX, NAMES_SILENCE_MS } from '../../src/wire/api/names-api.ts';

export interface KnownName {
  /** Is there a job with such a port? */
  readonly known: boolean;
  /** Those to use. */
  readonly endpoints: readonly Endpoint[];
  /** Since a monitor was heard of last. */
  readonly ageMs: number;
  /** No monitor is heard of now. */
  readonly isStale: boolean;
}

export interface KnownNamesDeps {
  readonly clock: Clock;
  /** After so long without a word of a monitor nothing is known. */
  readonly keptMs: number;
  /** This host sooner than any monitor: does its own instance not serve any more? */
  readonly isOver: (endpoint: Endpoint) => boolean;
}

type Told = Pick<NameChange, 'known' | 'endpoints'>;

/** What nobody has heard of is waited for so long; then the asker is told that it is not known. */
const FIRST_ANSWER_MS = 1_500;
/** Names that somebody asked for. A task may ask for names of nothing without end: those go first. */
const ASKED_MAX = 250;
/** One that nobody asks for any more is followed no longer. */
const ASKED_IDLE_MS = 600_000;

export class KnownNames {
  readonly #deps: KnownNamesDeps;
  /** When it was asked for last; the least recent first. */
  readonly #asked = new Map<string, number>();
  /** By how many it is pinned. */
  readonly #pinned = new Map<string, number>();
  readonly #told = new Map<string, Told>();
  /** Told, and not all that was to be told with it. */
  readonly #unheard = new Set<string>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<(name: string) => void>();
  #onWanted: () => void = () => undefined;
  #heardAtMs = -Infinity;
  #isClosed = false;

  constructor(deps: KnownNamesDeps) {
    this.#deps = deps;
  }

  // --- who wants names --------------------------------------------------------------------------------------------------

  /** It is followed from now on, for as long as it is asked for. @returns null: it may be anything */
  async ask(name: string): Promise<KnownName | null> {
    const { clock } = this.#deps;
    this.#asked.delete(name);
    this.#asked.set(name, clock.monotonicMs());
    if (this.#asked.size > ASKED_MAX) this.#forgetOne(name);
    if (!this.#told.has(name)) {
      this.#onWanted();
      await this.#firstAnswer(name);
    }
    return this.now(name);
  }

  /** It is followed from now on. @returns ends that */
  pin(name: string): () => void {
    this.#pinned.set(name, (this.#pinned.get(name) ?? 0) + 1);
    if (!this.#told.has(name)) this.#onWanted();
    return () => {
      const count = (this.#pinned.get(name) ?? 1) - 1;
      if (count > 0) return void this.#pinned.set(name, count);
      this.#pinned.delete(name);
      this.#forget(name);
    };
  }

  /** What was told of it last; null: nothing, or too long ago. */
  now(name: string): KnownName | null {
    const { clock, keptMs, isOver } = this.#deps;
    const told = this.#told.get(name);
    const ageMs = clock.monotonicMs() - this.#heardAtMs;
    if (told === undefined || ageMs > keptMs) return null;
    const endpoints = serving(told.endpoints.filter((endpoint) => !isOver(endpoint)));
    return { known: told.known, endpoints, ageMs: Math.max(0, ageMs), isStale: ageMs > NAMES_SILENCE_MS };
  }

  /** Called with each name that was told again. @returns ends it */
  onTold(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    for (const wakes of this.#waiting.values()) for (const wake of [...wakes]) wake();
  }

  // --- who follows them -------------------------------------------------------------------------------------------------

  /** Called when something is wanted of which nothing is known. */
  set onWanted(listener: () => void) {
    this.#onWanted = listener;
  }

  /** Bounded; those that tasks want come first. */
  wanted(): readonly string[] {
    const before = this.#deps.clock.monotonicMs() - ASKED_IDLE_MS;
    for (const [name, atMs] of this.#asked)
      if (atMs < before) {
        this.#asked.delete(name);
        this.#forget(name);
      }
    return [...new Set([...this.#pinned.keys(), ...this.#asked.keys()])].slice(0, NAMES_FOLLOWED_MAX);
  }

  tell({ name, known, endpoints }: NameChange): void {
    if (!this.#pinned.has(name) && !this.#asked.has(name)) return;
    this.#told.set(name, { known, endpoints });
    this.#unheard.add(name);
  }

  /** A monitor that knows all hosts says that this was all. */
  heard(): void {
    this.#heardAtMs = this.#deps.clock.monotonicMs();
    const names = [...this.#unheard];
    this.#unheard.clear();
    for (const name of names) for (const listener of [...this.#listeners]) listener(name);
    for (const [name, wakes] of [...this.#waiting])
      if (this.#told.has(name)) for (const wake of [...wakes]) wake();
  }

  // ----------------------------------------------------------------------------------------------------------------------

  #forgetOne(but: string): void {
    const others = [...this.#asked.keys()].filter((name) => name !== but);
    const name = others.find((one) => this.#told.get(one)?.known !== true) ?? others[0];
    if (name === undefined) return;
    this.#asked.delete(name);
    this.#forget(name);
  }

  #forget(name: string): void {
    if (!this.#pinned.has(name) && !this.#asked.has(name)) this.#told.delete(name);
  }

  #firstAnswer(name: string): Promise<void> {
    return new Promise((resolve) => {
      const wakes = this.#waiting.get(name) ?? new Set();
      const done = (): void => {
        cancel();
        wakes.delete(done);
        if (wakes.size === 0) this.#waiting.delete(name);
        resolve();
      };
      const cancel = this.#deps.clock.after(FIRST_ANSWER_MS, done);
      this.#waiting.set(name, wakes.add(done));
      if (this.#isClosed) done();
    });
  }
}
