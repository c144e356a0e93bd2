import type { CellIndex } from '../cell-state/cell-index.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import type { ValueCounts } from '../cell-state/neighbour-domains.ts';
import type { Selection } from '../cell-state/selection.ts';
import type { GroupAsk } from '../cell/ask.ts';
import type { Near, Range } from '../cell/interference.ts';
import { classScalar, isInUse, rangesOf } from '../cell/interference.ts';
import { WEIGHT_FULL } from '../cell/job.ts';
import { plainAttribute } from '../host/attributes.ts';

/** A wish for a class somewhere among the hosts of a value. */
interface NearOver extends Range {
  /** The attribute's number in the selection. */
  readonly at: number;
  readonly weight: number;
  readonly hosts: ValueCounts;
}

/**
 * What the neighbours that a group would rather have add to the score of a place. Those on the host itself tell hosts of one
 * stratum apart: a _company_ is a set of them as a number, a bit for each class. Those in a rack, a zone and so on are the
 * same for a stratum.
 */
export class Neighbourhood {
  /** What each company adds, by its number, in units of the load score's range. */
  readonly bonuses: readonly number[];
  readonly #index: CellIndex;
  /** Classes that are wanted on the host, by bit, and their scalars. */
  readonly #classes: readonly string[];
  readonly #scalars: readonly string[];
  readonly #over: readonly NearOver[];
  readonly #selection: Selection;

  constructor(index: CellIndex, selection: Selection, near: readonly Near[]) {
    this.#index = index;
    this.#selection = selection;
    const here = new Map<string, number>();
    const over: NearOver[] = [];
    for (const { class: name, over: attribute = 'id', weight: percent } of near) {
      const weight = percent / WEIGHT_FULL;
      const at = selection.attributes.indexOf(plainAttribute(attribute));
      if (at < 0) here.set(name, (here.get(name) ?? 0) + weight);
      else {
        const range = { class: name, attribute };
        over.push({ ...range, at, weight, hosts: index.domains.hostsWith(range) });
      }
    }
    this.#classes = [...here.keys()].sort();
    this.#scalars = this.#classes.map(classScalar);
    this.#over = over;
    this.bonuses = sums(this.#classes.map((name) => here.get(name) ?? 0));
  }

  /** The selection's attributes whose values have it or not. */
  get attributes(): readonly number[] {
    return this.#over.map(({ at }) => at);
  }

  /** Which of the wanted classes are on the host. */
  companyOn(host: number): number {
    const free = this.#index.slot(host).scalars;
    let company = 0;
    for (let bit = 0; bit < this.#scalars.length; bit++)
      if (isInUse(free, this.#scalars[bit]!)) company |= 1 << bit;
    return company;
  }

  /** The scalars in use on hosts with the company, and maybe with more. */
  scalarsOf(company: number): readonly string[] {
    return this.#scalars.filter((_, bit) => (company & (1 << bit)) !== 0);
  }

  /** The hosts with the company, and maybe others, in order: those of its rarest class. */
  hostsWith(company: number): readonly number[] {
    return this.#index.domains.hostsOf(this.#rarestIn(company));
  }

  /** How many these are. */
  sizeOf(company: number): number {
    return this.#index.domains.membersOf(this.#rarestIn(company)).size;
  }

  #rarestIn(company: number): string {
    const { domains } = this.#index;
    const names = this.#classes.filter((_, bit) => (company & (1 << bit)) !== 0);
    return names.reduce((a, b) => (domains.membersOf(b).size < domains.membersOf(a).size ? b : a));
  }

  /** The hosts with any of the classes, each once for each of them; null: they are more than `most`. */
  hostsWithAny(most: number): readonly number[] | null {
    const members = this.#classes.map((name) => this.#index.domains.membersOf(name));
    if (members.reduce((sum, { size }) => sum + size, 0) > most) return null;
    return members.flatMap((each) => Array.from(each.keys(), ({ index }) => index));
  }

  /** What racks, zones and so on of the hosts of a class add. */
  bonusOf(hostClass: number): number {
    let bonus = 0;
    for (const { at, weight, hosts } of this.#over) {
      const value = this.#selection.valueOf[at]?.[hostClass] ?? -1;
      if (value >= 0 && hosts.has(this.#selection.valueNames[at]![value]!)) bonus += weight;
    }
    return bonus;
  }

  /** Something was placed. */
  catchUp(): void {
    for (const range of this.#over) this.#index.domains.hostsWith(range);
  }
}

/**
 * Who has a say in what is on other hosts than its own reads the ledgers that no search has drawn yet: each once, however
 * many ask.
 */
export function readForNeighbours(state: CellState, { group, ask }: GroupAsk): void {
  if (group.near !== undefined || rangesOf(ask.resources.scalars).length > 0) state.readAll();
}

/** The sum of each subset, by its bits. */
function sums(weights: readonly number[]): readonly number[] {
  return Array.from({ length: 1 << weights.length }, (_, subset) =>
    weights.reduce((sum, weight, bit) => ((subset & (1 << bit)) === 0 ? sum : sum + weight), 0),
  );
}
