/** How often a host or monitor without changes sends a beat on its report stream, unless its reader asks for fewer. */
export const REPORT_BEAT_MS = 1_000;
/** One lost beat means nothing, nor do two (I18). */
const BEATS_MISSED = 3;
/** A source without a message for this long counts as silent, unless fewer beats were asked for. */
export const SILENCE_MS = BEATS_MISSED * REPORT_BEAT_MS;
/** A beat takes some 50 µs of a processor at the monitor, and 40 at the host. */
const BEATS_PER_SECOND_MAX = 500;
/** A host that dies or is cut off from the store as well is lost sooner than three of these, by its session. */
const BEAT_MAX_MS = 20_000;

/** When a host was last heard, by the monotonic clock, and whether it could be heard since. */
export interface Heard {
  readonly heardAtMs: number;
  /** Has it a stream on which it has said something? */
  readonly isOpen: boolean;
  /** When the last such stream ended. */
  readonly cutAtMs: number;
}

/**
 * How often the hosts that a monitor follows are to send beats, and when one of them counts as silent. With more than 500 of
 * them each sends fewer, so that 500 a second come in all, as servers of Nomad do it (`max_heartbeats_per_second`). A host
 * whose stream has ended is not given that time.
 *
 * The interval only grows: streams keep the one that they were opened with, and a longer silence is right for all of them.
 */
export class BeatInterval {
  #ms: number;
  readonly #isFixed: boolean;

  /** @param silenceMs as its operator asks; absent: what the number of hosts asks for */
  constructor(silenceMs?: number) {
    this.#isFixed = silenceMs !== undefined;
    this.#ms = silenceMs === undefined ? REPORT_BEAT_MS : silenceMs / BEATS_MISSED;
  }

  get ms(): number {
    return this.#ms;
  }

  get silenceMs(): number {
    return BEATS_MISSED * this.#ms;
  }

  /** So many hosts are followed now. */
  follow(hosts: number): void {
    if (this.#isFixed) return;
    const seconds = Math.ceil(hosts / BEATS_PER_SECOND_MAX);
    this.#ms = Math.max(this.#ms, Math.min(BEAT_MAX_MS, seconds * 1_000));
  }

  /** When the host counts as silent, if it says nothing more. */
  silentAtMs({ heardAtMs, isOpen, cutAtMs }: Heard): number {
    const lateMs = heardAtMs + this.silenceMs;
    if (isOpen || this.#isFixed) return lateMs;
    return Math.min(lateMs, Math.max(heardAtMs, cutAtMs) + SILENCE_MS);
  }
}
