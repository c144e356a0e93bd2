import { WaitQueue } from '../calls/wait-queue.ts';

/**
 * A queue for each namespace, served round robin, so that a few entries of one namespace do not wait for thousands of
 * another (S3.47). Within a namespace first in, first out.
 */
export class NamespaceQueues<T> {
  /** The next namespace is the first; no queue is empty. */
  readonly #queues = new Map<string, WaitQueue<T>>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(namespace: string, one: T): void {
    let queue = this.#queues.get(namespace);
    if (queue === undefined) this.#queues.set(namespace, (queue = new WaitQueue()));
    queue.push(one);
    this.#length += 1;
  }

  /** Takes out the next entry. @param mayGo may this head of a queue leave now? If not, its queue is skipped */
  next(mayGo: (first: T) => boolean = () => true): T | undefined {
    for (const [namespace, queue] of this.#queues) {
      const { first } = queue;
      if (first === undefined || !mayGo(first)) continue;
      queue.shift();
      this.#length -= 1;
      this.#queues.delete(namespace);
      if (queue.length > 0) this.#queues.set(namespace, queue);
      return first;
    }
    return undefined;
  }

  clear(): void {
    this.#queues.clear();
    this.#length = 0;
  }
}
