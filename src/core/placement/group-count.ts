import type { CellIndex } from '../cell-state/cell-index.ts';
import type { DomainRule } from '../cell-state/neighbour-domains.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import { plainAttribute } from '../host/attributes.ts';
import type { KnownHost } from '../cell-state/host-slot.ts';
import type { HostTally } from '../cell-state/host-tables.ts';
import type { Spread } from '../cell/job.ts';
import type { PlacementPolicy } from '../scoring/policy.ts';
import type { PlacementRequest } from './placement-request.ts';
import { WEIGHT_FULL } from '../cell/job.ts';
import { NO_SCALARS } from '../cell/resources.ts';
import { Neighbourhood } from './neighbourhood.ts';
import { PoolCapacity } from './pool-capacity.ts';
import type { Selection } from '../cell-state/selection.ts';
import { filling } from '../cell-state/spread-shares.ts';

const NO_HOSTS: readonly KnownHost[] = Object.freeze([]);

/**
 * At most so many held hosts, where only `distinct` on the id counts them, are compared with the host that was found:
 * looking each up in the tables of a large cell costs more.
 */
const COMPARED_MAX = 64;

/** What the group holds while its places are chosen, counted by host and by attribute value, and what follows from it. */
export class GroupCount {
  /** The cost of one more allocation of the group on the same host. */
  readonly sameHostCost: number;
  readonly #selection: Selection;
  readonly #index: CellIndex;
  readonly #classOf: Int32Array;
  /** Allocations by host; null: they do not matter. */
  readonly #byHost: HostTally | null;
  readonly #onePerHost: boolean;
  /** Hosts of the group that are not counted: `isTaken` compares. */
  readonly #compared: readonly KnownHost[];
  /** By attribute of the selection, then by value number. */
  readonly #byValue: readonly number[][];
  readonly #distinct: readonly number[];
  readonly #spread: readonly SpreadCount[];
  readonly #pools: PoolCapacity;
  /** What neighbours in racks and so on say. */
  readonly #domainRules: readonly DomainRule[];
  /** Null: it is drawn to no neighbours. */
  readonly near: Neighbourhood | null;

  constructor(state: CellState, selection: Selection, request: PlacementRequest, policy: PlacementPolicy) {
    const { index } = state;
    const { distinct, spread, near } = request.group;
    this.#selection = selection;
    this.#index = index;
    this.#classOf = index.classes.classOf;
    this.sameHostCost =
      policy.sameHostCost +
      spread.reduce((sum, preference) => sum + (isId(preference) ? cost(preference) : 0), 0);
    this.#spread = spread.length === 0 ? NO_LIST : spreadCounts(selection, spread);
    this.#onePerHost = distinct.some((attribute) => isId({ attribute }));
    this.#distinct = distinct.length === 0 ? NO_LIST : numbersOf(selection, distinct);
    this.#byHost = this.sameHostCost !== 0 || this.#onePerHost ? index.groupTally : null;
    this.#byHost?.clear();
    this.#pools = new PoolCapacity(state.pools, selection, index, request.ask);
    const { scalars } = request.ask.resources;
    this.#domainRules = scalars === NO_SCALARS ? NO_LIST : index.domains.rulesFor(scalars);
    this.near = near === undefined ? null : new Neighbourhood(index, selection, near);
    this.#byValue = selection.valueNames.map(({ length }) => new Array<number>(length).fill(0));
    const { hostsHeld } = request;
    const isCompared =
      this.#onePerHost &&
      this.sameHostCost === 0 &&
      this.#byValue.length === 0 &&
      hostsHeld.length <= COMPARED_MAX;
    this.#compared = isCompared ? hostsHeld : NO_HOSTS;
    if (!isCompared && this.#counts)
      for (const known of hostsHeld) if (known.index >= 0) this.#count(known.index);
  }

  /** Does any rule or preference depend on what the group holds? */
  get #counts(): boolean {
    return this.#byHost !== null || this.#byValue.length > 0;
  }

  /** May `allows` ever say no? */
  get forbids(): boolean {
    return this.#onePerHost || this.forbidsValues;
  }

  /** May a pick forbid other hosts than its own? */
  get forbidsValues(): boolean {
    return this.#distinct.length > 0 || this.#pools.forbids || this.#domainRules.length > 0;
  }

  /** One more was placed on the host. */
  add(host: number): void {
    this.#count(host);
    this.#pools.take(host);
    this.near?.catchUp();
  }

  #count(host: number): void {
    this.#byHost?.add(host);
    const { valueOf } = this.#selection;
    for (let at = 0; at < valueOf.length; at++) {
      const value = valueOf[at]?.[this.#classOf[host] ?? -1] ?? -1;
      if (value < 0) continue;
      this.#byValue[at]![value]! += 1;
    }
    for (const each of this.#spread) {
      const cost = this.#fillingOf(each, this.#classOf[host] ?? -1);
      if (cost !== null && cost > each.largest) each.largest = cost;
    }
  }

  /** Do the pools of the class's hosts take one more, and their neighbours? */
  hasCapacity(hostClass: number): boolean {
    if (!this.#pools.takes(hostClass)) return false;
    if (this.#domainRules.length === 0) return true;
    const { domains, classes } = this.#index;
    return domains.takes(classes, hostClass, this.#domainRules);
  }

  /** Do `distinct` and the pools allow one more on the host? */
  allows(host: number): boolean {
    return this.mayAllow(host) && !this.isTaken(host);
  }

  /** Does the group hold the host already? Only where `distinct` names the id. */
  isTaken(host: number): boolean {
    if (this.#compared.length === 0) return false;
    const slot = this.#index.slotAt(host);
    return slot !== null && this.#compared.includes(slot);
  }

  /** `allows` without `isTaken`. */
  mayAllow(host: number): boolean {
    if (this.#onePerHost && this.#byHost!.of(host) > 0) return false;
    if (!this.hasCapacity(this.#classOf[host] ?? -1)) return false;
    for (const at of this.#distinct) {
      const value = this.#selection.valueOf[at]?.[this.#classOf[host] ?? -1] ?? -1;
      if (value >= 0 && (this.#byValue[at]?.[value] ?? 0) > 0) return false;
    }
    return true;
  }

  /** The cost of the group's allocations on the host. */
  sameHostCostOn(host: number): number {
    return this.sameHostCost === 0 ? 0 : this.sameHostCost * this.#byHost!.of(host);
  }

  /** The selection's attributes on which `preference` depends. */
  get spreadOver(): readonly SpreadValues[] {
    const dividing = [...this.#pools.dividing, ...(this.near?.attributes ?? NO_LIST)];
    return dividing.length === 0 ? this.#spread : [...this.#spread, ...dividing.map(unspread)];
  }

  /** The score from affinity, spread, the neighbours around and the pools that are warm, for any host of the class. */
  preference(number: number): number {
    let score = (this.#selection.affinityOf[number] ?? 0) - this.#pools.warmth(number);
    if (this.near !== null) score += this.near.bonusOf(number);
    for (const each of this.#spread)
      score -= each.weight * (this.#fillingOf(each, number) ?? each.largest + 1);
    return score;
  }

  /** How far the value of the class is filled; null: it has no value, or one with share 0. */
  #fillingOf({ at, shares }: SpreadCount, hostClass: number): number | null {
    const value = this.#selection.valueOf[at]?.[hostClass] ?? -1;
    if (value < 0) return null;
    const count = this.#byValue[at]?.[value] ?? 0;
    if (shares === null) return count;
    const share = shares[value]!;
    return share > 0 ? filling(count, share) : null;
  }
}

/** One of the attributes that a group spreads over. */
export interface SpreadValues {
  /** Its number in the selection. */
  readonly at: number;
  /** Share (`spreadShares`) by value number, 0: none; null: even. */
  readonly shares: Float64Array | null;
  /** How far the fullest value is filled. */
  readonly largest: number;
}

interface SpreadCount extends SpreadValues {
  readonly weight: number;
  largest: number;
}

const NO_LIST: readonly never[] = [];

function unspread(at: number): SpreadValues {
  return { at, shares: null, largest: 0 };
}

function isId({ attribute }: { readonly attribute: string }): boolean {
  return plainAttribute(attribute) === 'id';
}

function cost({ weight }: Spread): number {
  return weight / WEIGHT_FULL;
}

function spreadCounts(selection: Selection, spread: readonly Spread[]): SpreadCount[] {
  const counts: SpreadCount[] = [];
  for (const [number, each] of spread.entries()) {
    if (isId(each)) continue;
    const at = selection.attributes.indexOf(plainAttribute(each.attribute));
    const parts = selection.shares[number] ?? null;
    const shares =
      parts === null ? null : Float64Array.from(selection.valueNames[at]!, (name) => parts.get(name) ?? 0);
    const largest = parts === null ? 0 : fullestOf(parts);
    counts.push({ at, weight: cost(each), shares, largest });
  }
  return counts;
}

/** How far the fullest value is filled when the group holds nothing. */
function fullestOf(parts: ReadonlyMap<string, number>): number {
  let fullest = 0;
  for (const share of parts.values()) fullest = Math.max(fullest, filling(0, share));
  return fullest;
}

function numbersOf(selection: Selection, attributes: readonly string[]): readonly number[] {
  return attributes
    .map(plainAttribute)
    .filter((name) => name !== 'id')
    .map((name) => selection.attributes.indexOf(name));
}
