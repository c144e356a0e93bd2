/** Something that is to happen at an instant of virtual time. */
export interface AgendaEntry {
  readonly atMs: number;
  /** Of two entries of one instant the one that was entered first happens first. */
  readonly order: number;
  readonly life: Life;
  /** What it is, in one or two words: `timer`, `http request`, `disk append`. */
  readonly kind: string;
  /** What it carries, for the trace; empty for most. */
  readonly note: string;
  /** null: taken back. */
  run: (() => void) | null;
}

/**
 * One incarnation of an actor: a role between its start and its crash, a machine between two boots. Everything that is to
 * happen to it stands in the agenda under its life, so ending the life drops all of it, as kill -9 does; and nothing of a
 * life that ended ever runs again.
 */
export class Life {
  readonly actor: string;
  readonly incarnation: number;
  readonly #onEnd: (() => void)[] = [];
  #ended = false;
  #held: AgendaEntry[] | null = null;

  constructor(actor: string, incarnation = 1) {
    this.actor = actor;
    this.incarnation = incarnation;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get paused(): boolean {
    return this.#held !== null;
  }

  /** Nothing of it happens from now on. The world then does what it does for the dead: sockets are reset, locks fall. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#held = null;
    for (const ended of this.#onEnd.splice(0)) ended();
  }

  /** For the world around it, never for the actor itself. */
  onEnd(ended: () => void): void {
    if (this.#ended) ended();
    else this.#onEnd.push(ended);
  }

  /** As SIGSTOP: what becomes due is held back. */
  pause(): void {
    if (!this.#ended) this.#held ??= [];
  }

  /** As SIGCONT. @returns what was held back, in order; the agenda takes it up again */
  resume(): readonly AgendaEntry[] {
    const held = this.#held ?? [];
    this.#held = null;
    return held;
  }

  /** @returns false: it is not paused, and the entry is to run */
  hold(entry: AgendaEntry): boolean {
    if (this.#held === null) return false;
    this.#held.push(entry);
    return true;
  }
}
