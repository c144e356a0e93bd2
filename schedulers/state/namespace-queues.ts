import { WaitingLine } from '../calls/wait-queue.ts';

/**
 * What waits, a line for each namespace: they take turns, so that a few of one do not wait for thousands of another (S3.47).
 * Within a namespace first come, first served.
 */
export class TenantLines<T> {
  /** The one whose turn comes next is the first; none is empty. */
  readonly #lines = new Map<string, WaitingLine<T>>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(namespace: string, one: T): void {
    let line = this.#lines.get(namespace);
    if (line === undefined) this.#lines.set(namespace, (line = new WaitingLine()));
    line.push(one);
    this.#length += 1;
  }

  /** Takes out the next one. @param mayGo says of the first of a line whether it may leave; a line whose first may not is passed over */
  next(mayGo: (first: T) => boolean = () => true): T | undefined {
    for (const [namespace, line] of this.#lines) {
      const { first } = line;
      if (first === undefined || !mayGo(first)) continue;
      line.shift();
      this.#length -= 1;
      this.#lines.delete(namespace);
      if (line.length > 0) this.#lines.set(namespace, line);
      return first;
    }
    return undefined;
  }

  clear(): void {
    this.#lines.clear();
    this.#length = 0;
  }
}
