import type { CellIndex } from '../cell-state/cell-index.ts';
import type { PoolBook } from '../quota/pool-book.ts';
import type { Ask } from '../cell/ask.ts';
import { plainAttribute } from '../host/attributes.ts';
import type { Selection } from '../cell-state/selection.ts';
import { CELL_POOL, poolName } from '../quota/shared-resource.ts';

/** One shared resource that a request asks for, and how many more allocations each of its pools takes. */
interface Room {
  readonly resource: string;
  readonly amount: number;
  /** The attribute's place in the selection; −1: the whole cell shares one pool. */
  readonly at: number;
  /** By value number; `UNKNOWN` until somebody asks. */
  readonly left: Int32Array;
}

const UNKNOWN = -1;
/** More than any request wants. */
const PLENTY = 0x7fff_ffff;

/** How many more allocations of a request the pools above the hosts take, while its places are chosen. */
export class PoolCapacity {
  readonly #pools: PoolBook;
  readonly #selection: Selection;
  readonly #classOf: Int32Array;
  readonly #rooms: readonly Room[];
  /** Something is asked for that no operator has defined. */
  readonly #isUndefined: boolean;

  constructor(pools: PoolBook, selection: Selection, index: CellIndex, { shared }: Ask) {
    this.#pools = pools;
    this.#selection = selection;
    this.#classOf = index.classes.classOf;
    const rooms: Room[] = [];
    let isUndefined = false;
    for (const resource in shared) {
      const { resource: known } = pools.resource(resource);
      if (known === null) isUndefined = true;
      else {
        const at = known.by === null ? -1 : selection.attributes.indexOf(plainAttribute(known.by));
        const values = at < 0 ? 1 : (selection.valueCounts[at] ?? 0);
        const left = new Int32Array(values).fill(UNKNOWN);
        rooms.push({ resource, amount: shared[resource] ?? 0, at, left });
      }
    }
    this.#rooms = rooms.length === 0 ? NO_ROOMS : rooms;
    this.#isUndefined = isUndefined;
  }

  /** May `takes` ever say no? */
  get forbids(): boolean {
    return this.#isUndefined || this.#rooms.length > 0;
  }

  /** Do the pools of the class's hosts take one more? */
  takes(hostClass: number): boolean {
    if (this.#isUndefined) return false;
    for (const room of this.#rooms) {
      const value = this.#valueOf(room, hostClass);
      if (value < 0 || this.#left(room, value) < 1) return false;
    }
    return true;
  }

  /** One was placed on the host. */
  take(host: number): void {
    for (const room of this.#rooms) {
      const value = this.#valueOf(room, this.#classOf[host] ?? -1);
      if (value >= 0) room.left[value] = this.#left(room, value) - 1;
    }
  }

  #valueOf({ at }: Room, hostClass: number): number {
    return at < 0 ? 0 : (this.#selection.valueOf[at]?.[hostClass] ?? -1);
  }

  #left(room: Room, value: number): number {
    const known = room.left[value] ?? 0;
    if (known !== UNKNOWN) return known;
    const name = room.at < 0 ? CELL_POOL : (this.#selection.valueNames[room.at]?.[value] ?? '');
    const free = name === '' ? 0 : this.#pools.free(poolName(room.resource, name));
    const left = room.amount > 0 ? Math.min(PLENTY, Math.floor(free / room.amount)) : PLENTY;
    return (room.left[value] = Math.max(0, left));
  }
}

const NO_ROOMS: readonly Room[] = Object.freeze([]);
