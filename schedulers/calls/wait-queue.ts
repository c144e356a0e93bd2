/** First come, first served, at a cost that does not grow with the length. Whatever has left is let go of, also by a line that is never empty. */
export class WaitingLine<T> {
  #held: T[] = [];
  /** Where the first is; before it lies what has left, of which there is never more than of what waits. */
  #next = 0;

  get length(): number {
    return this.#held.length - this.#next;
  }

  get first(): T | undefined {
    return this.#held[this.#next];
  }

  push(one: T): void {
    this.#held.push(one);
  }

  /** The first one leaves. */
  shift(): void {
    if (this.length === 0) return;
    this.#next += 1;
    // As many have left since the last cut as are copied now, or more.
    if (this.#next <= this.length) return;
    this.#held = this.#held.slice(this.#next);
    this.#next = 0;
  }
}
