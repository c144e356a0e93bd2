/** A full transaction should be answered within this time: sending more than that only fills the store's own queue. */
const ANSWER_MS = 50;
/**
 * For a store that is slow by itself (far away, slow disk): so many times the least answer time ever seen. The least does
 * not expire: under a steady load the queueing time would be taken for the store's own, and the window would grow with it.
 */
const LEAST_FACTOR = 3;
/** The share of the newest answer in the mean. */
const NEWEST = 1 / 8;
/** Share of a step that one answer makes: a whole window is answered before it has changed, so that it does not swing. */
const STEP = { up: 1 / 32, down: 1 / 16 };
const STEP_MAX = 0.5;
/** One is prepared while one is under way. */
const TRANSACTIONS_MIN = 2;

/**
 * How many full transactions are under way at once: what the store answers in `ANSWER_MS`, by Little's law
 * (under way = rate × time). When the store slows down or serves other schedulers too, less is sent; undecided jobs wait
 * instead, which costs nothing, and are decided on newer knowledge. Schedulers with the same target time share the store
 * by their needs without knowing of one another. A limit by the least time seen alone, as in TCP Vegas, would take the
 * queue of the other schedulers for the store's own time, and grow with it.
 */
export class CommitWindow {
  readonly #min: number;
  readonly #max: number;
  #width: number;
  #meanMs: number | null = null;
  #leastMs = Infinity;
  #halvedAtMs = -Infinity;

  /** @param max transactions; the window's first size, while nothing is known of the store */
  constructor(max: number) {
    this.#max = max;
    this.#min = Math.min(TRANSACTIONS_MIN, max);
    this.#width = max;
  }

  /** Not a whole number. */
  get transactions(): number {
    return this.#width;
  }

  /**
   * A transaction was answered. Small ones show only the store's own time, since few of them are under way.
   * @param tookMs from sending to the answer
   */
  answered(tookMs: number, isFull: boolean): void {
    this.#leastMs = Math.min(this.#leastMs, tookMs);
    if (!isFull) return;
    this.#meanMs = this.#meanMs === null ? tookMs : this.#meanMs + (tookMs - this.#meanMs) * NEWEST;
    const wantedMs = Math.max(ANSWER_MS, LEAST_FACTOR * this.#leastMs);
    // On a clock that stands still, as a simulated one may, the store takes everything.
    const excess = this.#meanMs === 0 ? STEP_MAX : wantedMs / this.#meanMs - 1;
    const step = excess > 0 ? Math.min(excess, STEP_MAX) * STEP.up : Math.max(excess, -STEP_MAX) * STEP.down;
    this.#width = Math.max(this.#min, Math.min(this.#max, this.#width * (1 + step)));
  }

  /**
   * A transaction was cut off or overdue, whatever its size: halves the window. Those that were under way at the same time
   * may fail for the same cause, such as a broken connection, and halve it no further.
   * @param sentAtMs on the monotonic clock of `nowMs`
   */
  unanswered(sentAtMs: number, nowMs: number): void {
    if (sentAtMs <= this.#halvedAtMs) return;
    this.#halvedAtMs = nowMs;
    this.#width = Math.max(this.#min, this.#width / 2);
  }
}
