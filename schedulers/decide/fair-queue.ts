/**
 * Whose turn it is to be decided. Namespaces share the scheduler's time evenly: each has a counter of what it has used,
 * and the one that used least goes next. Within a namespace the highest precedence goes first, and jobs of one
 * precedence take turns, a slice each (S3.47).
 *
 * The bound: when a namespace that was idle gets a job, each of the others has at most two turns before it. One turn takes
 * it past the counter of the newcomer, which lies at most one turn above that of the least used.
 *
 * A job is in the queue at most once.
 */
export class FairQueue {
  readonly #namespaces = new Map<string, NamespaceQueue>();
  readonly #namespaceOf = new Map<string, string>();
  /** What a namespace starts with that was idle: it may not save up its idle time. */
  #floor = 0;

  get size(): number {
    return this.#namespaceOf.size;
  }

  has(job: string): boolean {
    return this.#namespaceOf.has(job);
  }

  /** At the end of its precedence's line; nothing when it is in the queue already. */
  push(namespace: string, precedence: number, job: string): void {
    if (this.#namespaceOf.has(job)) return;
    this.#namespaceOf.set(job, namespace);
    let queue = this.#namespaces.get(namespace);
    if (queue === undefined)
      this.#namespaces.set(namespace, (queue = { used: this.#floor, lines: new Map() }));
    if (queue.lines.size === 0) queue.used = Math.max(queue.used, this.#floor);
    const line = queue.lines.get(precedence);
    if (line === undefined) queue.lines.set(precedence, new Set([job]));
    else line.add(job);
  }

  /** Takes out the next job. */
  next(): string | undefined {
    let best: NamespaceQueue | undefined;
    for (const queue of this.#namespaces.values()) {
      if (queue.lines.size > 0 && (best === undefined || queue.used < best.used)) best = queue;
    }
    if (best === undefined) return undefined;
    this.#floor = best.used;
    let precedence = -Infinity;
    for (const one of best.lines.keys()) if (one > precedence) precedence = one;
    const line = best.lines.get(precedence);
    const job = line?.values().next().value;
    if (line === undefined || job === undefined) throw new Error('an empty line was left in the queue');
    this.#take(best, precedence, line, job);
    return job;
  }

  /** Counts what a turn of the namespace has used. */
  charge(namespace: string, amount: number): void {
    const queue = this.#namespaces.get(namespace);
    if (queue !== undefined) queue.used += amount;
  }

  remove(job: string): void {
    const namespace = this.#namespaceOf.get(job);
    const queue = namespace === undefined ? undefined : this.#namespaces.get(namespace);
    if (queue === undefined) return;
    for (const [precedence, line] of queue.lines) {
      if (line.has(job)) this.#take(queue, precedence, line, job);
    }
  }

  #take(queue: NamespaceQueue, precedence: number, line: Set<string>, job: string): void {
    line.delete(job);
    if (line.size === 0) queue.lines.delete(precedence);
    this.#namespaceOf.delete(job);
  }
}

interface NamespaceQueue {
  used: number;
  /** Jobs by precedence, each line in the order in which they came. */
  readonly lines: Map<number, Set<string>>;
}
