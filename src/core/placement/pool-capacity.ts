import type { CellIndex } from '../cell-state/cell-index.ts';
import type { PoolBook } from '../quota/pool-book.ts';
import type { Ask } from '../cell/ask.ts';
import { plainAttribute } from '../host/attributes.ts';
import type { Selection } from '../cell-state/selection.ts';
import type { SharedResource } from '../quota/shared-resource.ts';
import { capacityOf, CELL_POOL, poolName, warmthOf } from '../quota/shared-resource.ts';

/** One requested shared resource, and what is left of each of its pools. */
interface Asked {
  readonly name: string;
  readonly resource: SharedResource;
  readonly amount: number;
  /** The attribute's place in the selection; −1: the whole cell shares one pool. */
  readonly at: number;
  /** Free by value number; `UNKNOWN` until first used. */
  readonly free: Float64Array;
}

const UNKNOWN = Number.NaN;

/** What the pools of a request's shared resources still take, and how warm they are, while its places are chosen. */
export class PoolCapacity {
  readonly #pools: PoolBook;
  readonly #selection: Selection;
  readonly #classOf: Int32Array;
  readonly #asked: readonly Asked[];
  /** A requested resource is not defined. */
  readonly #isUndefined: boolean;
  /** Is any pool warm of which others could be taken instead? */
  #isWarm = false;

  constructor(pools: PoolBook, selection: Selection, index: CellIndex, { shared }: Ask) {
    this.#pools = pools;
    this.#selection = selection;
    this.#classOf = index.classes.classOf;
    const asked: Asked[] = [];
    let isUndefined = false;
    for (const name in shared) {
      const { resource } = pools.resource(name);
      if (resource === null) isUndefined = true;
      else {
        const at = resource.by === null ? -1 : selection.attributes.indexOf(plainAttribute(resource.by));
        const values = at < 0 ? 1 : (selection.valueNames[at]?.length ?? 0);
        const free = new Float64Array(values).fill(UNKNOWN);
        asked.push({ name, resource, amount: shared[name] ?? 0, at, free });
        if (at >= 0 && pools.warm(name).size > 0) this.#isWarm = true;
      }
    }
    this.#asked = asked.length === 0 ? NOTHING_ASKED : asked;
    this.#isUndefined = isUndefined;
  }

  /** May `takes` ever say no? */
  get forbids(): boolean {
    return this.#isUndefined || this.#asked.length > 0;
  }

  /** The selection's attributes on which `warmth` depends. */
  get dividing(): readonly number[] {
    return this.#asked.filter(({ at }) => at >= 0).map(({ at }) => at);
  }

  /** Do the pools of the class's hosts take one more? */
  takes(hostClass: number): boolean {
    if (this.#isUndefined) return false;
    for (const asked of this.#asked) {
      const value = this.#valueOf(asked, hostClass);
      if (value < 0 || (asked.amount > 0 && this.#free(asked, value) < asked.amount)) return false;
    }
    return true;
  }

  /** How warm the pools of the class's hosts are: what their score loses. */
  warmth(hostClass: number): number {
    if (!this.#isWarm) return 0;
    let sum = 0;
    for (const asked of this.#asked) {
      const value = asked.at < 0 ? -1 : this.#valueOf(asked, hostClass);
      if (value >= 0) sum += this.#warmth(asked, value);
    }
    return sum;
  }

  /** One was placed on the host. */
  take(host: number): void {
    for (const asked of this.#asked) {
      const value = this.#valueOf(asked, this.#classOf[host] ?? -1);
      if (value < 0) continue;
      asked.free[value] = this.#free(asked, value) - asked.amount;
      if (asked.at >= 0 && !this.#isWarm) this.#isWarm = this.#warmth(asked, value) > 0;
    }
  }

  #warmth(asked: Asked, value: number): number {
    const name = this.#nameOf(asked, value);
    // Most pools of a cell are neither warm nor taken of in this decision.
    if (Number.isNaN(asked.free[value]!) && !this.#pools.warm(asked.name).has(name)) return 0;
    const capacity = capacityOf(asked.resource, name);
    return warmthOf(capacity - this.#free(asked, value), capacity);
  }

  #valueOf({ at }: Asked, hostClass: number): number {
    return at < 0 ? 0 : (this.#selection.valueOf[at]?.[hostClass] ?? -1);
  }

  #nameOf({ at }: Asked, value: number): string {
    return at < 0 ? CELL_POOL : (this.#selection.valueNames[at]?.[value] ?? '');
  }

  #free(asked: Asked, value: number): number {
    const known = asked.free[value] ?? 0;
    if (!Number.isNaN(known)) return known;
    const name = this.#nameOf(asked, value);
    return (asked.free[value] = name === '' ? 0 : this.#pools.free(poolName(asked.name, name)));
  }
}

const NOTHING_ASKED: readonly Asked[] = Object.freeze([]);
