import type { Clock } from '../../src/ports/clock.ts';

/** A client that was cut comes again sooner than this, or not at all. */
const HOLD_AFTER_CUT_MS = 5_000;

/** What a client wants of the input: to read only, to write if no other client does, to write in any case. */
export type InputMode = 'none' | 'free' | 'take';

/** A client that writes. */
export interface Writer {
  /** Chosen by the client: the same when it comes again after a cut. Empty: a client that was not here before. */
  readonly session: string;
  /** Resolves when nothing of its input is on its way any more. */
  lose(): Promise<void>;
}

interface Holding {
  readonly session: string;
  /** null: it was cut, and has until then to come again. */
  writer: Writer | null;
  untilMs: number;
}

/**
 * Who types into which attempt or command: one at a time, since two would each take the other's bytes for its own. In
 * memory only: after a restart of the agent the first to come again holds it.
 */
export class InputHolders {
  readonly #clock: Clock;
  readonly #holdings = new Map<string, Holding>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns whether the writer holds the input now; whoever held it before has no byte on its way */
  async claim(name: string, writer: Writer, wish: InputMode): Promise<boolean> {
    if (wish === 'none') return false;
    const now = this.#holdings.get(name);
    const isFree =
      now === undefined ||
      (now.session === writer.session && writer.session !== '') ||
      (now.writer === null && this.#clock.monotonicMs() >= now.untilMs);
    if (!isFree && wish !== 'take') return false;
    this.#holdings.set(name, { session: writer.session, writer, untilMs: 0 });
    await now?.writer?.lose();
    return true;
  }

  /** The writer's connection is over. */
  leave(name: string, writer: Writer, hasEnded: boolean): void {
    const holding = this.#holdings.get(name);
    if (holding?.writer !== writer) return;
    if (hasEnded) {
      this.#holdings.delete(name);
      return;
    }
    holding.writer = null;
    holding.untilMs = this.#clock.monotonicMs() + HOLD_AFTER_CUT_MS;
    this.#forgetOld();
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [name, { writer, untilMs }] of this.#holdings)
      if (writer === null && nowMs >= untilMs) this.#holdings.delete(name);
  }
}
