/**
 * The order of decisions. Namespaces share the scheduler's time evenly: each has a counter of what it has used, and the
 * one that used least goes next. Within a namespace the highest precedence goes first, and jobs of one precedence take
 * turns, a slice each (S3.47).
 *
 * The bound: when a namespace that was idle gets a job, each other namespace has at most two decisions before it. One
 * decision takes it past the counter of the newcomer, which lies at most one decision above that of the least used.
 *
 * A job is in the queue at most once.
 */
export class FairQueue {
  readonly #namespaces = new Map<string, NamespaceQueue>();
  readonly #namespaceOf = new Map<string, string>();
  /** The counter of a namespace that was idle starts here: idle time is not saved up. */
  #floor = 0;

  get size(): number {
    return this.#namespaceOf.size;
  }

  /** At the end of its precedence's jobs; nothing when it is in the queue already. */
  push(namespace: string, precedence: number, job: string): void {
    if (this.#namespaceOf.has(job)) return;
    this.#namespaceOf.set(job, namespace);
    let queue = this.#namespaces.get(namespace);
    if (queue === undefined)
      this.#namespaces.set(namespace, (queue = { used: this.#floor, byPrecedence: new Map() }));
    if (queue.byPrecedence.size === 0) queue.used = Math.max(queue.used, this.#floor);
    const jobs = queue.byPrecedence.get(precedence);
    if (jobs === undefined) queue.byPrecedence.set(precedence, new Set([job]));
    else jobs.add(job);
  }

  next(): string | undefined {
    let best: NamespaceQueue | undefined;
    for (const queue of this.#namespaces.values()) {
      if (queue.byPrecedence.size > 0 && (best === undefined || queue.used < best.used)) best = queue;
    }
    if (best === undefined) return undefined;
    this.#floor = best.used;
    let precedence = -Infinity;
    for (const one of best.byPrecedence.keys()) if (one > precedence) precedence = one;
    const jobs = best.byPrecedence.get(precedence);
    const job = jobs?.values().next().value;
    if (jobs === undefined || job === undefined)
      throw new Error('a precedence without jobs was left in the queue');
    this.#take(best, precedence, jobs, job);
    return job;
  }

  charge(namespace: string, amount: number): void {
    const queue = this.#namespaces.get(namespace);
    if (queue !== undefined) queue.used += amount;
  }

  remove(job: string): void {
    const namespace = this.#namespaceOf.get(job);
    const queue = namespace === undefined ? undefined : this.#namespaces.get(namespace);
    if (queue === undefined) return;
    for (const [precedence, jobs] of queue.byPrecedence) {
      if (jobs.has(job)) this.#take(queue, precedence, jobs, job);
    }
  }

  #take(queue: NamespaceQueue, precedence: number, jobs: Set<string>, job: string): void {
    jobs.delete(job);
    if (jobs.size === 0) queue.byPrecedence.delete(precedence);
    this.#namespaceOf.delete(job);
  }
}

interface NamespaceQueue {
  used: number;
  readonly byPrecedence: Map<number, Set<string>>;
}
