/** First in, first out, at a cost that does not grow with the length. A queue that is never empty lets go of what has left, too. */
export class WaitQueue<T> {
  #items: T[] = [];
  /** Index of the first one; before it lies what has left, never more than what waits. */
  #next = 0;

  get length(): number {
    return this.#items.length - this.#next;
  }

  get first(): T | undefined {
    return this.#items[this.#next];
  }

  push(one: T): void {
    this.#items.push(one);
  }

  shift(): void {
    if (this.length === 0) return;
    this.#next += 1;
    // At least as many have left since the last cut as are copied now.
    if (this.#next <= this.length) return;
    this.#items = this.#items.slice(this.#next);
    this.#next = 0;
  }
}
