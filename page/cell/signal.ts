/** A value that views follow. */
export class Watchable<T> {
  #value: T;
  readonly #followers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const follower of [...this.#followers]) follower();
  }

  /** @returns ends it */
  readonly follow = (follower: () => void): (() => void) => {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  };
}
