import type { Caller } from '../../core/access/access.ts';
import { nameOfCaller } from '../../core/access/access.ts';
import type { Problem } from '../../wire/api/problem.ts';
import { RETRY_AFTER_S } from './problem-reply.ts';

/** Of a person, that is of one token: a command line and a page that refreshes itself need a tenth of it. */
const PERSON_PER_SECOND = 50;
const PERSON_BURST = 100;

interface Known {
  underWay: number;
  /** Requests that may be made at once. */
  left: number;
  atMs: number;
}

/**
 * How much of a server one caller may take, whoever it is: a part of its connections at a time, and if it is a person, or a machine that joins, so many
 * requests a second. Roles are not counted by the second: a scheduler starts as much as its grants allow, and the requests that
 * it has under way bound it.
 *
 * Nothing is kept of a caller that has no request under way and its whole burst left, so what is kept is bounded by the
 * connections and by the requests of the last `PERSON_BURST / PERSON_PER_SECOND` seconds.
 */
export class CallerLimits {
  readonly #underWayMax: number;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, Known>();
  #sweptMs = 0;

  /** @param nowMs a clock that only goes forward */
  constructor(underWayMax: number, nowMs: () => number) {
    this.#underWayMax = underWayMax;
    this.#nowMs = nowMs;
  }

  /**
   * A request of the caller comes in.
   * @param peer null: the server has no credentials and knows nobody, so nobody is limited
   * @returns what to call when it is over, or why it is refused
   */
  enter(peer: Caller | null): (() => void) | Problem {
    if (peer === null) return () => undefined;
    const nowMs = this.#nowMs();
    this.#sweep(nowMs);
    const name = nameOfCaller(peer);
    const known = this.#known.get(name) ?? { underWay: 0, left: PERSON_BURST, atMs: nowMs };
    this.#known.set(name, known);
    if (known.underWay >= this.#underWayMax) return tooMany('has too many requests under way');
    if (peer.role === 'person' || peer.role === 'invited') {
      known.left = Math.min(PERSON_BURST, known.left + earned(known, nowMs));
      known.atMs = nowMs;
      if (known.left < 1) return tooMany(`makes more than ${String(PERSON_PER_SECOND)} requests a second`);
      known.left -= 1;
    }
    known.underWay += 1;
    let over = false;
    return () => {
      if (!over) known.underWay -= 1;
      over = true;
    };
  }

  /** Once in the time in which every burst is whole again. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < (PERSON_BURST / PERSON_PER_SECOND) * 1000) return;
    this.#sweptMs = nowMs;
    for (const [name, known] of this.#known)
      if (known.underWay === 0 && known.left + earned(known, nowMs) >= PERSON_BURST) this.#known.delete(name);
  }

  /** For tests: of how many callers something is kept. */
  get size(): number {
    return this.#known.size;
  }
}

function earned({ atMs }: Known, nowMs: number): number {
  return ((nowMs - atMs) / 1000) * PERSON_PER_SECOND;
}

function tooMany(what: string): Problem {
  return {
    ...{ status: 429, code: 'too-many-requests', detail: `this identity ${what}` },
    hint: `ask again after ${String(RETRY_AFTER_S)} s`,
  };
}
