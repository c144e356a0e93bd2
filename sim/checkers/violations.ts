/** An invariant that did not hold, at a revision of the store. */
export interface Violation {
  /** `I1`, ... of `invariants.md`. */
  readonly invariant: string;
  readonly revision: number;
  readonly key: string;
  readonly detail: string;
}

/** One broken rule can show at every later revision; the first ones tell all. */
export const VIOLATIONS_MAX = 100;

/** Collects violations: the first ones whole, the rest as a count. */
export class Findings {
  readonly #found: Violation[] = [];
  #count = 0;

  get violations(): readonly Violation[] {
    return this.#found;
  }

  /** All of them, also those that are not kept. */
  get count(): number {
    return this.#count;
  }

  add(invariant: string, revision: number, key: string, detail: string): void {
    this.#count += 1;
    if (this.#found.length < VIOLATIONS_MAX) this.#found.push({ invariant, revision, key, detail });
  }
}
