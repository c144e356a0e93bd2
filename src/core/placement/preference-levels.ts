import type { GroupCount, SpreadValues } from './group-count.ts';
import type { Selection } from '../cell-state/selection.ts';

/**
 * The strata of a selection in order of what the group wishes for them, kept from one place to the next: a pick changes the
 * wishes of those strata only that share a value with its host. To weigh all of them for each place costs a thousand times
 * as much where there are thousands.
 */
export class PreferenceLevels {
  readonly #selection: Selection;
  readonly #group: GroupCount;
  readonly #wishes: Float64Array;
  /** Strata by wish, and where each stands among those of its own. */
  readonly #levels = new Map<number, number[]>();
  readonly #places: Int32Array;
  /** All wishes that some stratum has, the lowest first. */
  readonly #order: number[] = [];
  /** By attribute that is spread over: the strata of each value with a part of the group, and at the end all others. */
  readonly #sharing: readonly (readonly number[][])[];
  /** By attribute that is spread over: how far its fullest value was filled when those without a part were weighed. */
  readonly #fullest: number[];

  constructor(selection: Selection, group: GroupCount) {
    const { strata } = selection;
    this.#selection = selection;
    this.#group = group;
    this.#wishes = new Float64Array(strata.length);
    this.#places = new Int32Array(strata.length).fill(-1);
    this.#fullest = group.spreadOver.map(({ largest }) => largest);
    this.#sharing = group.spreadOver.map((wish) => sharing(selection, wish));
    for (let stratum = 0; stratum < strata.length; stratum++) {
      const wish = this.#wishOf(stratum);
      this.#wishes[stratum] = wish;
      const level = this.#levels.get(wish);
      if (level === undefined) this.#levels.set(wish, [stratum]);
      else level.push(stratum);
      this.#places[stratum] = (level?.length ?? 1) - 1;
    }
    this.#order = [...this.#levels.keys()].sort((a, b) => a - b);
  }

  /** How many wishes are told apart. */
  get size(): number {
    return this.#order.length;
  }

  /** The wish and the strata that have it; 0: the highest. */
  at(number: number): { readonly wish: number; readonly strata: readonly number[] } {
    const wish = this.#order[this.#order.length - 1 - number];
    const strata = wish === undefined ? undefined : this.#levels.get(wish);
    if (wish === undefined || strata === undefined) throw new Error(`no level ${String(number)}`);
    return { wish, strata };
  }

  /** The stratum has nothing more to give. */
  remove(stratum: number): void {
    if (this.#places[stratum]! >= 0) this.#leave(stratum);
  }

  /** A host of the class was picked, and counted. */
  picked(hostClass: number): void {
    for (const [number, { at, largest }] of this.#group.spreadOver.entries()) {
      const strata = this.#sharing[number]!;
      const value = this.#selection.valueOf[at]?.[hostClass] ?? -1;
      if (value >= 0) for (const stratum of strata[value]!) this.#weigh(stratum);
      // Those without a part stand behind the value that is filled most.
      if (largest === this.#fullest[number]) continue;
      this.#fullest[number] = largest;
      for (const stratum of strata[strata.length - 1]!) this.#weigh(stratum);
    }
  }

  #wishOf(stratum: number): number {
    return this.#group.wish(this.#selection.strata[stratum]!.classes[0] ?? -1);
  }

  #weigh(stratum: number): void {
    if (this.#places[stratum]! < 0) return;
    const wish = this.#wishOf(stratum);
    if (wish === this.#wishes[stratum]) return;
    this.#leave(stratum);
    this.#wishes[stratum] = wish;
    let level = this.#levels.get(wish);
    if (level === undefined) {
      this.#levels.set(wish, (level = []));
      this.#order.splice(this.#indexOf(wish), 0, wish);
    }
    this.#places[stratum] = level.length;
    level.push(stratum);
  }

  #leave(stratum: number): void {
    const wish = this.#wishes[stratum]!;
    const level = this.#levels.get(wish)!;
    const last = level.pop()!;
    if (last !== stratum) {
      level[this.#places[stratum]!] = last;
      this.#places[last] = this.#places[stratum]!;
    }
    this.#places[stratum] = -1;
    if (level.length > 0) return;
    this.#levels.delete(wish);
    this.#order.splice(this.#indexOf(wish), 1);
  }

  /** Where the wish stands in the order, or would. */
  #indexOf(wish: number): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#order[middle]! < wish) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function sharing({ strata, valueOf, valueCounts }: Selection, { at, shares }: SpreadValues): number[][] {
  const values = valueCounts[at] ?? 0;
  const result = Array.from({ length: values + 1 }, (): number[] => []);
  for (const [number, { classes }] of strata.entries()) {
    const value = valueOf[at]?.[classes[0] ?? -1] ?? -1;
    const hasPart = value >= 0 && (shares === null || shares[value]! > 0);
    result[hasPart ? value : values]!.push(number);
  }
  return result;
}
