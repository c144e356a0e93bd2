import type { CellState } from '../cell-state/cell-state.ts';
import { plainAttribute } from '../host/attributes.ts';
import type { KnownHost } from '../cell-state/host-slot.ts';
import type { Group } from '../cell/job.ts';
import type { Selection } from '../cell-state/selection.ts';

/**
 * Above this the held hosts are counted in an array by host index: a map of 100,000 hosts for each search would cost some
 * 30 ms. It is rebuilt when hosts come, go or move.
 */
const FEW = 64;

/**
 * What `distinct` forbids a group: counted once, and updated while allocations of the group come and go, so that thousands
 * of searches in a row need not walk over all that the group holds.
 */
export class DistinctCount {
  readonly #state: CellState;
  readonly #onePerHost: boolean;
  /** Of `distinct`, without `id`. */
  readonly #attributes: readonly string[];
  /** What was held at first, one entry each; null: `#byHost` counts it. */
  #atFirst: readonly KnownHost[] | null;
  readonly #byHost = new Map<KnownHost, number>();
  /** Allocations by host index; null: few are held, or not counted yet. */
  #byIndex: Int32Array | null = null;
  /** Version of the host classes that `#byIndex` belongs to. */
  #indexVersion = -1;
  /** By attribute, then by value number of the selection. */
  #byValue: readonly Int32Array[] = [];
  /** The selection that `#byValue` belongs to: another one means another count. */
  #selection: Selection | null = null;

  /** @param held hosts of the group's allocations, one entry each */
  constructor(state: CellState, { distinct }: Group, held: readonly KnownHost[]) {
    this.#state = state;
    const names = distinct.map(plainAttribute);
    this.#onePerHost = names.includes('id');
    this.#attributes = names.filter((name) => name !== 'id');
    this.#atFirst = distinct.length === 0 ? NO_HOSTS : held.slice();
  }

  add(known: KnownHost): void {
    this.#shift(known, 1);
  }

  remove(known: KnownHost): void {
    this.#shift(known, -1);
  }

  /** Does `distinct` allow one more on the host? @param selection the group's current one */
  allows(known: KnownHost, selection: Selection): boolean {
    if (known.index >= 0) return this.allowsAt(known.index, selection);
    if (this.#onePerHost && this.#hosts.has(known)) return false;
    return this.allowsClass(-1, selection);
  }

  /** `allows` for the host of the index. */
  allowsAt(index: number, selection: Selection): boolean {
    if (this.#onePerHost && this.#isHeld(index)) return false;
    if (this.#attributes.length === 0) return true;
    return this.allowsClass(this.#state.index.classes.classOf[index] ?? -1, selection);
  }

  /** False: `allows` is false for every host of the class. */
  allowsClass(hostClass: number, selection: Selection): boolean {
    if (this.#attributes.length === 0) return true;
    if (selection !== this.#selection) this.#countBy(selection);
    return this.#attributes.every((name, at) => {
      const value = valueOfClass(name, hostClass, selection);
      return value < 0 || this.#byValue[at]![value] === 0;
    });
  }

  #isHeld(index: number): boolean {
    if ((this.#atFirst?.length ?? this.#byHost.size) <= FEW)
      return this.#hosts.has(this.#state.index.slot(index));
    const { version } = this.#state.index.classes;
    if (this.#byIndex === null || this.#indexVersion !== version) {
      this.#byIndex = this.#countByIndex();
      this.#indexVersion = version;
    }
    return this.#byIndex[index]! > 0;
  }

  #countByIndex(): Int32Array {
    const counts = new Int32Array(this.#state.index.size);
    for (const { index } of this.#atFirst ?? NO_HOSTS) if (index >= 0) counts[index]! += 1;
    for (const [{ index }, count] of this.#byHost) if (index >= 0) counts[index]! += count;
    return counts;
  }

  /** Allocations by host. */
  get #hosts(): ReadonlyMap<KnownHost, number> {
    const held = this.#atFirst;
    this.#atFirst = null;
    for (const known of held ?? NO_HOSTS) this.#byHost.set(known, (this.#byHost.get(known) ?? 0) + 1);
    return this.#byHost;
  }

  #shift(known: KnownHost, sign: 1 | -1): void {
    if (!this.#onePerHost && this.#attributes.length === 0) return;
    const count = (this.#hosts.get(known) ?? 0) + sign;
    if (count > 0) this.#byHost.set(known, count);
    else this.#byHost.delete(known);
    if (this.#indexVersion !== this.#state.index.classes.version) this.#byIndex = null;
    else if (this.#byIndex !== null && known.index >= 0) this.#byIndex[known.index] = Math.max(0, count);
    const selection = this.#selection;
    if (selection === null) return;
    // A stale selection: the next use counts again.
    if (selection.version === this.#state.index.classes.version) this.#shiftValues(known, sign, selection);
    else this.#selection = null;
  }

  #countBy(selection: Selection): void {
    this.#selection = selection;
    this.#byValue = this.#attributes.map((name) => {
      const at = selection.attributes.indexOf(name);
      return new Int32Array(selection.valueNames[at]?.length ?? 0);
    });
    for (const [known, count] of this.#hosts) this.#shiftValues(known, count, selection);
  }

  #shiftValues(known: KnownHost, by: number, selection: Selection): void {
    const hostClass = this.#classOf(known);
    for (const [at, name] of this.#attributes.entries()) {
      const value = valueOfClass(name, hostClass, selection);
      if (value >= 0) this.#byValue[at]![value]! += by;
    }
  }

  /** −1: the host is not registered. */
  #classOf({ index }: KnownHost): number {
    return index < 0 ? -1 : (this.#state.index.classes.classOf[index] ?? -1);
  }
}

const NO_HOSTS: readonly KnownHost[] = [];

/** −1: not set. */
function valueOfClass(name: string, hostClass: number, { attributes, valueOf }: Selection): number {
  return valueOf[attributes.indexOf(name)]?.[hostClass] ?? -1;
}
