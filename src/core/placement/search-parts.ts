import type { CellIndex } from '../cell-state/cell-index.ts';
import type { GroupCount } from './group-count.ts';
import type { Selection } from '../cell-state/selection.ts';

/** A part for each stratum, while nobody wants neighbours. */
const ALONE: readonly number[] = [0];

/**
 * What a search tells apart: hosts of one stratum with the same company (`Neighbourhood`). All of a part are preferred
 * equally. Parts are numbered, those of a stratum one after the other.
 */
export class SearchParts {
  readonly count: number;
  /** How many lie in each stratum. */
  readonly each: number;
  readonly #selection: Selection;
  readonly #group: GroupCount;
  readonly #classOf: Int32Array;
  readonly #bonuses: readonly number[];

  constructor(selection: Selection, index: CellIndex, group: GroupCount) {
    this.#selection = selection;
    this.#group = group;
    this.#classOf = index.classes.classOf;
    this.#bonuses = group.near?.bonuses ?? ALONE;
    this.each = this.#bonuses.length;
    this.count = selection.strata.length * this.each;
  }

  stratumOf(part: number): number {
    return this.each === 1 ? part : Math.floor(part / this.each);
  }

  companyOf(part: number): number {
    return this.each === 1 ? 0 : part % this.each;
  }

  /** The part that a host is in now; −1: in none. */
  partOf(host: number): number {
    const stratum = this.#selection.stratumOf[this.#classOf[host] ?? -1] ?? -1;
    if (stratum < 0 || this.each === 1) return stratum;
    return stratum * this.each + this.#group.near!.companyOn(host);
  }

  /** Any class of its hosts; −1: it has none. */
  classIn(part: number): number {
    return this.#selection.strata[this.stratumOf(part)]?.classes[0] ?? -1;
  }

  preference(part: number): number {
    return this.#group.preference(this.classIn(part)) + this.#bonuses[this.companyOf(part)]!;
  }

  /**
   * Parts that need not be opened: those with company of which no host is. Few hosts of the wanted classes are gone through;
   * with many of them most parts have one, and each is found out when it is opened.
   * @returns 1 by part that is empty; null: it is not known of any
   */
  findEmpty(): Uint8Array | null {
    const { strata } = this.#selection;
    if (this.each === 1 || strata.length === 1) return null;
    const hosts = this.#group.near!.hostsWithAny(Math.max(WALKED_MAX, strata.length));
    if (hosts === null) return null;
    const empty = new Uint8Array(this.count);
    for (let part = 0; part < this.count; part++) empty[part] = this.companyOf(part) === 0 ? 0 : 1;
    for (const host of hosts) {
      const part = this.partOf(host);
      if (part >= 0) empty[part] = 0;
    }
    return empty;
  }
}

/** Hosts of the wanted classes, however few the strata are. */
const WALKED_MAX = 1_024;
