import type { CellIndex } from '../cell-state/cell-index.ts';
import type { PoolBook } from '../quota/pool-book.ts';
import type { Ask } from '../cell/ask.ts';
import { plainAttribute } from '../host/attributes.ts';
import type { Selection } from '../cell-state/selection.ts';
import { CELL_POOL, poolName } from '../quota/shared-resource.ts';

/** One requested shared resource, and how many more allocations each of its pools takes. */
interface Asked {
  readonly resource: string;
  readonly amount: number;
  /** The attribute's place in the selection; −1: the whole cell shares one pool. */
  readonly at: number;
  /** By value number; `UNKNOWN` until first used. */
  readonly left: Int32Array;
}

const UNKNOWN = -1;
/** More than any request asks for. */
const PLENTY = 0x7fff_ffff;

/** How many more allocations of a request the pools take, while its places are chosen. */
export class PoolCapacity {
  readonly #pools: PoolBook;
  readonly #selection: Selection;
  readonly #classOf: Int32Array;
  readonly #asked: readonly Asked[];
  /** A requested resource is not defined. */
  readonly #isUndefined: boolean;

  constructor(pools: PoolBook, selection: Selection, index: CellIndex, { shared }: Ask) {
    this.#pools = pools;
    this.#selection = selection;
    this.#classOf = index.classes.classOf;
    const asked: Asked[] = [];
    let isUndefined = false;
    for (const resource in shared) {
      const { resource: known } = pools.resource(resource);
      if (known === null) isUndefined = true;
      else {
        const at = known.by === null ? -1 : selection.attributes.indexOf(plainAttribute(known.by));
        const values = at < 0 ? 1 : (selection.valueNames[at]?.length ?? 0);
        const left = new Int32Array(values).fill(UNKNOWN);
        asked.push({ resource, amount: shared[resource] ?? 0, at, left });
      }
    }
    this.#asked = asked.length === 0 ? NOTHING_ASKED : asked;
    this.#isUndefined = isUndefined;
  }

  /** May `takes` ever say no? */
  get forbids(): boolean {
    return this.#isUndefined || this.#asked.length > 0;
  }

  /** Do the pools of the class's hosts take one more? */
  takes(hostClass: number): boolean {
    if (this.#isUndefined) return false;
    for (const asked of this.#asked) {
      const value = this.#valueOf(asked, hostClass);
      if (value < 0 || this.#left(asked, value) < 1) return false;
    }
    return true;
  }

  /** One was placed on the host. */
  take(host: number): void {
    for (const asked of this.#asked) {
      const value = this.#valueOf(asked, this.#classOf[host] ?? -1);
      if (value >= 0) asked.left[value] = this.#left(asked, value) - 1;
    }
  }

  #valueOf({ at }: Asked, hostClass: number): number {
    return at < 0 ? 0 : (this.#selection.valueOf[at]?.[hostClass] ?? -1);
  }

  #left(asked: Asked, value: number): number {
    const known = asked.left[value] ?? 0;
    if (known !== UNKNOWN) return known;
    const name = asked.at < 0 ? CELL_POOL : (this.#selection.valueNames[asked.at]?.[value] ?? '');
    const free = name === '' ? 0 : this.#pools.free(poolName(asked.resource, name));
    const left = asked.amount > 0 ? Math.min(PLENTY, Math.floor(free / asked.amount)) : PLENTY;
    return (asked.left[value] = Math.max(0, left));
  }
}

const NOTHING_ASKED: readonly Asked[] = Object.freeze([]);
