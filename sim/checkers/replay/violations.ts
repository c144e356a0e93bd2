/** An invariant that did not hold, at a revision of the store or at a time of a run. */
export interface Violation {
  /** `I1`, ... of `invariants.md`. */
  readonly invariant: string;
  /** 0: not about a revision. */
  readonly revision: number;
  readonly key: string;
  readonly detail: string;
  /** True time of the run; absent for the history of a real store, which has no times. */
  readonly atMs?: number;
  /** Stamps of the facts that prove it, in a recorded run. */
  readonly evidence?: readonly number[];
}

/** Where in a recorded run something lies. */
interface Place {
  readonly seq: number;
  readonly atMs: number;
}

/** A broken rule can show at every later revision; the first ones are enough. */
export const VIOLATIONS_MAX = 100;

/** Collects violations: the first ones whole, the rest as a count. */
export class Findings {
  readonly #found: Violation[];
  #count: number;
  #revisionAt: Place | null = null;

  /** @param found what is known already */
  constructor(found: readonly Violation[] = []) {
    this.#found = [...found];
    this.#count = found.length;
  }

  get violations(): readonly Violation[] {
    return this.#found;
  }

  /** All of them, also those that are not kept. */
  get count(): number {
    return this.#count;
  }

  /** Violations at revisions from here on lie at this place of the run. */
  enter(at: Place): void {
    this.#revisionAt = at;
  }

  /** @param evidence facts besides the revision itself */
  add(
    invariant: string,
    revision: number,
    key: string,
    detail: string,
    evidence: readonly Place[] = [],
  ): void {
    const at = this.#revisionAt;
    if (at === null) this.#keep({ invariant, revision, key, detail });
    else this.#keep(placed({ invariant, revision, key, detail }, [...evidence, at]));
  }

  /** @param facts what proves it, the last one being the moment at which it was broken */
  prove(invariant: string, key: string, detail: string, facts: readonly [Place, ...Place[]]): void {
    this.#keep(placed({ invariant, revision: 0, key, detail }, facts));
  }

  #keep(violation: Violation): void {
    this.#count += 1;
    if (this.#found.length < VIOLATIONS_MAX) this.#found.push(violation);
  }
}

function placed(violation: Violation, facts: readonly Place[]): Violation {
  const atMs = facts.at(-1)?.atMs ?? 0;
  return { ...violation, atMs, evidence: facts.map(({ seq }) => seq) };
}
