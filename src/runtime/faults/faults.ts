/**
 * Fail-points: a run can be made to fail before and after every I/O of a role, by name. A name is
 * `<role>/<port>.<method>/<subject>:<before|after>`, as in `scheduler/store.attempt/allocs+ledger:after`.
 *
 * The ports are wrapped, so that no role knows of it; without an order nothing is wrapped.
 *
 * - `faults.ts`: what happens when a point is reached
 * - `armed.ts`: wraps all ports of a role, with `armed-store.ts` for the store and `armed-http.ts` for HTTP
 * - `subjects.ts`: what an I/O is about, from its keys, path or URL
 * - `io-sites.ts`: every I/O in the sources, written by `npm run fail-points`
 * - `names.ts`: all names there are
 * - `orders.ts`: reads orders (`NAME:NTH:kill`), and follows them
 */

/** The roles that do I/O, as fail-points name them. A hollow host is an agent. */
export const FAIL_ROLES = ['scheduler', 'agent', 'monitor', 'arbiter'] as const;
export type FailRole = (typeof FAIL_ROLES)[number];

export interface FailPoints {
  /** Called at each point. @returns what happens there; null: nothing */
  reach(name: string): Failure | null;
}

/**
 * `throw`: the I/O fails, as its port says that it may. `wait`: the I/O waits for `until`, for ever when the process is to
 * die there.
 */
export type Failure = { readonly kind: 'throw' } | { readonly kind: 'wait'; readonly until: Promise<void> };

export type When = 'before' | 'after';

/** Makes the error that the port throws when the I/O fails before, or after, it was done. */
export type FaultOf = (when: When, name: string) => Error;

/** One I/O that answers with a promise. What fails afterwards has been done all the same. */
export async function around<T>(
  points: FailPoints,
  name: string,
  fault: FaultOf,
  call: () => Promise<T>,
): Promise<T> {
  const before = pass(points, name, 'before', fault);
  if (before !== null) await before;
  try {
    return await call();
  } finally {
    const after = pass(points, name, 'after', fault);
    if (after !== null) await after;
  }
}

/** @returns null when there is nothing to wait for, so that an idle point does not reorder calls. @throws by `fault` */
function pass(points: FailPoints, name: string, when: When, fault: FaultOf): Promise<void> | null {
  const failure = points.reach(`${name}:${when}`);
  if (failure === null) return null;
  if (failure.kind === 'throw') throw fault(when, name);
  return failure.until;
}

/** The pieces of a stream, each an I/O of its own: `before` it is handed over, `after` it was handled. */
export async function* aroundEach<T>(
  points: FailPoints,
  name: string,
  fault: FaultOf,
  pieces: AsyncIterable<T>,
): AsyncGenerator<T> {
  for await (const piece of pieces) {
    const before = pass(points, name, 'before', fault);
    if (before !== null) await before;
    yield piece;
    const after = pass(points, name, 'after', fault);
    if (after !== null) await after;
  }
}

/** Calls of a listener, in order, each an I/O of its own: while one waits, those behind it wait too. */
export class Deliveries {
  readonly #points: FailPoints;
  readonly #name: string;
  #last: Promise<void> | null = null;
  #over = false;

  constructor(points: FailPoints, name: string) {
    this.#points = points;
    this.#name = name;
  }

  /** @param broken called instead when the delivery fails */
  give(deliver: () => void, broken: () => void): void {
    if (this.#last === null) this.#wait(this.#give(deliver, broken));
    else this.#wait(this.#last.then(async () => (await this.#give(deliver, broken)) ?? undefined));
  }

  /** Nothing is delivered any more. */
  end(): void {
    this.#over = true;
  }

  #wait(done: Promise<void> | null): void {
    if (done === null) return;
    const last = done.then(() => {
      if (this.#last === last) this.#last = null;
    });
    this.#last = last;
  }

  #give(deliver: () => void, broken: () => void): Promise<void> | null {
    if (this.#over) return null;
    const before = this.#points.reach(`${this.#name}:before`);
    if (before?.kind === 'throw') {
      broken();
      return null;
    }
    if (before === null) return this.#deliver(deliver, broken);
    return before.until.then(async () => {
      if (!this.#over) await this.#deliver(deliver, broken);
    });
  }

  #deliver(deliver: () => void, broken: () => void): Promise<void> | null {
    deliver();
    const after = this.#points.reach(`${this.#name}:after`);
    if (after?.kind === 'throw' && !this.#over) broken();
    return after?.kind === 'wait' ? after.until : null;
  }
}
