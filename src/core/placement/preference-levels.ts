import type { GroupCount, SpreadValues } from './group-count.ts';
import type { Selection } from '../cell-state/selection.ts';

/**
 * The strata of a selection in order of preference, kept from one pick to the next: a pick changes only strata that share
 * a value with its host, and those without a value, and an exhausted stratum leaves for good. Scoring all of them for each
 * pick costs a thousand times as much where there are thousands. `docs/decisions/spread-and-distinct.md`
 */
export class PreferenceLevels {
  readonly #selection: Selection;
  readonly #group: GroupCount;
  readonly #preferences: Float64Array;
  /** Strata by preference, and the position of each in its level. */
  readonly #levels = new Map<number, number[]>();
  readonly #places: Int32Array;
  /** The preferences of all levels, lowest first. */
  readonly #order: number[] = [];
  /** As when the levels were made: the counts in them go on. */
  readonly #spreadOver: readonly SpreadValues[];
  /** By spread attribute: the strata of each value with a share, and at the end all others. */
  readonly #sharing: readonly (readonly number[][])[];
  /** By spread attribute: how far its fullest value was filled when the strata without a share were last scored. */
  readonly #fullest: number[];

  constructor(selection: Selection, group: GroupCount) {
    const { strata } = selection;
    this.#selection = selection;
    this.#group = group;
    this.#preferences = new Float64Array(strata.length);
    this.#places = new Int32Array(strata.length).fill(-1);
    this.#spreadOver = group.spreadOver;
    this.#fullest = this.#spreadOver.map(({ largest }) => largest);
    this.#sharing = this.#spreadOver.map((spread) => sharing(selection, spread));
    for (let stratum = 0; stratum < strata.length; stratum++) {
      const preference = this.#preferenceOf(stratum);
      this.#preferences[stratum] = preference;
      const level = this.#levels.get(preference);
      if (level === undefined) this.#levels.set(preference, [stratum]);
      else level.push(stratum);
      this.#places[stratum] = (level?.length ?? 1) - 1;
    }
    this.#order = [...this.#levels.keys()].sort((a, b) => a - b);
  }

  /** The number of levels. */
  get size(): number {
    return this.#order.length;
  }

  /** A level; 0: the highest preference. */
  at(number: number): { readonly preference: number; readonly strata: readonly number[] } {
    const preference = this.#order[this.#order.length - 1 - number];
    const strata = preference === undefined ? undefined : this.#levels.get(preference);
    if (preference === undefined || strata === undefined) throw new Error(`no level ${String(number)}`);
    return { preference, strata };
  }

  remove(stratum: number): void {
    if (this.#places[stratum]! >= 0) this.#leave(stratum);
  }

  /** Updates the levels after a host of the class was picked and counted. */
  picked(hostClass: number): void {
    for (const [number, { at, largest }] of this.#spreadOver.entries()) {
      const strata = this.#sharing[number]!;
      const value = this.#selection.valueOf[at]?.[hostClass] ?? -1;
      if (value >= 0) for (const stratum of strata[value]!) this.#weigh(stratum);
      // Strata without a share rank behind the fullest value.
      if (largest === this.#fullest[number]) continue;
      this.#fullest[number] = largest;
      for (const stratum of strata[strata.length - 1]!) this.#weigh(stratum);
    }
  }

  #preferenceOf(stratum: number): number {
    return this.#group.preference(this.#selection.strata[stratum]!.classes[0] ?? -1);
  }

  #weigh(stratum: number): void {
    if (this.#places[stratum]! < 0) return;
    const preference = this.#preferenceOf(stratum);
    if (preference === this.#preferences[stratum]) return;
    this.#leave(stratum);
    this.#preferences[stratum] = preference;
    let level = this.#levels.get(preference);
    if (level === undefined) {
      this.#levels.set(preference, (level = []));
      this.#order.splice(this.#indexOf(preference), 0, preference);
    }
    this.#places[stratum] = level.length;
    level.push(stratum);
  }

  #leave(stratum: number): void {
    const preference = this.#preferences[stratum]!;
    const level = this.#levels.get(preference)!;
    const last = level.pop()!;
    if (last !== stratum) {
      level[this.#places[stratum]!] = last;
      this.#places[last] = this.#places[stratum]!;
    }
    this.#places[stratum] = -1;
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

function sharing({ strata, valueOf, valueNames }: Selection, { at, shares }: SpreadValues): number[][] {
  const values = valueNames[at]?.length ?? 0;
  const result = Array.from({ length: values + 1 }, (): number[] => []);
  for (const [number, { classes }] of strata.entries()) {
    const value = valueOf[at]?.[classes[0] ?? -1] ?? -1;
    const hasPart = value >= 0 && (shares === null || shares[value]! > 0);
    result[hasPart ? value : values]!.push(number);
  }
  return result;
}
