/** The store is to answer a full transaction within this time: what waits for longer has not become faster by being sent. */
const ANSWER_MS = 50;
/**
 * Of a store that is slow by itself, far away or on a slow disk: so many times the least ever seen. The least is not
 * forgotten with time: under a steady load the queue would be taken for the store's own time, and then grow with it.
 */
const LEAST_FACTOR = 3;
/** The share of the newest answer in the mean. */
const NEWEST = 1 / 8;
/** The part of a step that one answer takes: a window is answered before it is judged, so that it does not swing. */
const STEP = { up: 1 / 32, down: 1 / 16 };
const STEP_MAX = 0.5;
/** One is made ready while one is under way. */
const TRANSACTIONS_MIN = 2;

/**
 * How many full transactions are under way at once: what the store answers in `ANSWER_MS`, by Little's law
 * (under way = rate × time). When it slows down, or others use it as well, less is sent; what is not sent waits as a wish
 * to decide, which costs nothing and is decided on newer knowledge. All schedulers of a cell that go by the same time get
 * shares of the store like their needs, and none has to know of the others: a limit by the least time seen alone, as in TCP
 * Vegas, takes the others' queue for the store's own time, and grows with it.
 */
export class CommitWindow {
  readonly #min: number;
  readonly #max: number;
  #width: number;
  #meanMs: number | null = null;
  #leastMs = Infinity;
  #halvedAtMs = -Infinity;

  /** @param max transactions; so many to begin with, while nothing is known of the store */
  constructor(max: number) {
    this.#max = max;
    this.#min = Math.min(TRANSACTIONS_MIN, max);
    this.#width = max;
  }

  /** Not whole: of what waits for its transaction, a part may be had ready. */
  get transactions(): number {
    return this.#width;
  }

  /**
   * A transaction was answered. Small ones tell only what the store takes for itself: mostly few of them are under way.
   * @param tookMs from sending to the answer
   */
  answered(tookMs: number, isFull: boolean): void {
    this.#leastMs = Math.min(this.#leastMs, tookMs);
    if (!isFull) return;
    this.#meanMs = this.#meanMs === null ? tookMs : this.#meanMs + (tookMs - this.#meanMs) * NEWEST;
    const wantedMs = Math.max(ANSWER_MS, LEAST_FACTOR * this.#leastMs);
    // A clock that stands still, as a simulated one may, tells of a store that takes all.
    const excess = this.#meanMs === 0 ? STEP_MAX : wantedMs / this.#meanMs - 1;
    const step = excess > 0 ? Math.min(excess, STEP_MAX) * STEP.up : Math.max(excess, -STEP_MAX) * STEP.down;
    this.#width = Math.max(this.#min, Math.min(this.#max, this.#width * (1 + step)));
  }

  /**
   * A transaction was cut off or overdue, whatever was in it: half as many from now on. All that were under way then may
   * share its fate, as when a connection breaks, and tell nothing new.
   * @param sentAtMs on the monotonic clock of `nowMs`
   */
  unanswered(sentAtMs: number, nowMs: number): void {
    if (sentAtMs <= this.#halvedAtMs) return;
    this.#halvedAtMs = nowMs;
    this.#width = Math.max(this.#min, this.#width / 2);
  }
}
