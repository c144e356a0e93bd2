import type { GroupCount, SpreadValues } from './group-count.ts';
import type { SearchParts } from './search-parts.ts';
import type { Selection } from '../cell-state/selection.ts';

/**
 * The parts of a search in order of preference, kept from one pick to the next: a pick changes only parts that share a value
 * with its host, and those without a value, and an exhausted part leaves for good, unless a host comes into it. Scoring all
 * of them for each pick costs a thousand times as much where there are thousands. `docs/decisions/spread-and-distinct.md`
 */
export class PreferenceLevels {
  readonly #selection: Selection;
  readonly #parts: SearchParts;
  readonly #preferences: Float64Array;
  /** Parts by preference, and the position of each in its level. */
  readonly #levels = new Map<number, number[]>();
  readonly #places: Int32Array;
  /** The preferences of all levels, lowest first. */
  readonly #order: number[] = [];
  /** As when the levels were made: the counts in them go on. */
  readonly #spreadOver: readonly SpreadValues[];
  /** By spread attribute: the parts of each value with a share, and at the end all others. */
  readonly #sharing: readonly (readonly number[][])[];
  /** By spread attribute: how far its fullest value was filled when the parts without a share were last scored. */
  readonly #fullest: number[];

  constructor(selection: Selection, group: GroupCount, parts: SearchParts) {
    this.#selection = selection;
    this.#parts = parts;
    this.#preferences = new Float64Array(parts.count);
    this.#places = new Int32Array(parts.count).fill(-1);
    this.#spreadOver = group.spreadOver;
    this.#fullest = this.#spreadOver.map(({ largest }) => largest);
    this.#sharing = this.#spreadOver.map((spread) => sharing(selection, parts, spread));
    for (let part = 0; part < parts.count; part++) {
      const preference = parts.preference(part);
      this.#preferences[part] = preference;
      const level = this.#levels.get(preference);
      if (level === undefined) this.#levels.set(preference, [part]);
      else level.push(part);
      this.#places[part] = (level?.length ?? 1) - 1;
    }
    this.#order = [...this.#levels.keys()].sort((a, b) => a - b);
  }

  /** The number of levels. */
  get size(): number {
    return this.#order.length;
  }

  /** A level; 0: the highest preference. */
  at(number: number): { readonly preference: number; readonly parts: readonly number[] } {
    const preference = this.#order[this.#order.length - 1 - number];
    const parts = preference === undefined ? undefined : this.#levels.get(preference);
    if (preference === undefined || parts === undefined) throw new Error(`no level ${String(number)}`);
    return { preference, parts };
  }

  remove(part: number): void {
    if (this.#places[part]! >= 0) this.#leave(part);
  }

  /** Takes back a removal. */
  restore(part: number): void {
    if (this.#places[part]! < 0) this.#join(part, this.#parts.preference(part));
  }

  /** Updates the levels after a host of the class was picked and counted. */
  picked(hostClass: number): void {
    for (const [number, { at, largest }] of this.#spreadOver.entries()) {
      const parts = this.#sharing[number]!;
      const value = this.#selection.valueOf[at]?.[hostClass] ?? -1;
      if (value >= 0) for (const part of parts[value]!) this.#weigh(part);
      // Parts without a share rank behind the fullest value.
      if (largest === this.#fullest[number]) continue;
      this.#fullest[number] = largest;
      for (const part of parts[parts.length - 1]!) this.#weigh(part);
    }
  }

  #weigh(part: number): void {
    if (this.#places[part]! < 0) return;
    const preference = this.#parts.preference(part);
    if (preference === this.#preferences[part]) return;
    this.#leave(part);
    this.#join(part, preference);
  }

  #join(part: number, preference: number): void {
    this.#preferences[part] = preference;
    let level = this.#levels.get(preference);
    if (level === undefined) {
      this.#levels.set(preference, (level = []));
      this.#order.splice(this.#indexOf(preference), 0, preference);
    }
    this.#places[part] = level.length;
    level.push(part);
  }

  #leave(part: number): void {
    const preference = this.#preferences[part]!;
    const level = this.#levels.get(preference)!;
    const last = level.pop()!;
    if (last !== part) {
      level[this.#places[part]!] = last;
      this.#places[last] = this.#places[part]!;
    }
    this.#places[part] = -1;
    if (level.length > 0) return;
    this.#levels.delete(preference);
    this.#order.splice(this.#indexOf(preference), 1);
  }

  /** Position of the preference in the order, or where it belongs. */
  #indexOf(preference: number): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#order[middle]! < preference) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function sharing(
  { valueOf, valueNames }: Selection,
  parts: SearchParts,
  { at, shares }: SpreadValues,
): number[][] {
  const values = valueNames[at]?.length ?? 0;
  const result = Array.from({ length: values + 1 }, (): number[] => []);
  for (let part = 0; part < parts.count; part++) {
    const value = valueOf[at]?.[parts.classIn(part)] ?? -1;
    const hasShare = value >= 0 && (shares === null || shares[value]! > 0);
    result[hasShare ? value : values]!.push(part);
  }
  return result;
}
