import type { CellIndex } from '../cell-state/cell-index.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import { plainAttribute } from '../host/attributes.ts';
import type { KnownHost } from '../cell-state/host-slot.ts';
import type { HostTally } from '../cell-state/host-tables.ts';
import type { Spread } from '../cell/job.ts';
import type { PlacementPolicy } from '../scoring/policy.ts';
import type { PlacementRequest } from './placement-request.ts';
import { WEIGHT_FULL } from '../cell/job.ts';
import { PoolCapacity } from './pool-capacity.ts';
import type { Selection } from '../cell-state/selection.ts';
import { filling } from '../cell-state/spread-shares.ts';

const NOBODY: readonly KnownHost[] = Object.freeze([]);

/**
 * Where hosts held only matter as themselves, and are no more than these, they are compared with the host that was found:
 * in a large cell, to look each of them up costs more than to find it.
 */
const COMPARED_MAX = 64;

/** What the group holds while its places are chosen, counted over classes; what it costs and forbids follows. */
export class GroupCount {
  /** What one more allocation of the group on the same host costs. */
  readonly sameHostCost: number;
  readonly #selection: Selection;
  readonly #index: CellIndex;
  readonly #classOf: Int32Array;
  /** Allocations by host; kept only where it matters. */
  readonly #byHost: HostTally | null;
  readonly #onePerHost: boolean;
  /** Hosts that the group has, which are in no count: `isTaken` says. */
  readonly #compared: readonly KnownHost[];
  /** By attribute of the selection, then by value number. */
  readonly #byValue: readonly number[][];
  readonly #distinct: readonly number[];
  readonly #spread: readonly SpreadCount[];
  /** Of what the hosts share. */
  readonly #room: PoolCapacity;

  constructor(state: CellState, selection: Selection, request: PlacementRequest, policy: PlacementPolicy) {
    const { index } = state;
    const { distinct, spread } = request.group;
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
    this.#room = new PoolCapacity(state.pools, selection, index, request.ask);
    this.#byValue = selection.valueCounts.map((count) => new Array<number>(count).fill(0));
    const { hostsHeld } = request;
    const isCompared =
      this.#onePerHost &&
      this.sameHostCost === 0 &&
      this.#byValue.length === 0 &&
      hostsHeld.length <= COMPARED_MAX;
    this.#compared = isCompared ? hostsHeld : NOBODY;
    if (!isCompared && this.#counts)
      for (const known of hostsHeld) if (known.index >= 0) this.#count(known.index);
  }

  /** Are there any wishes or rules that depend on what the group holds? */
  get #counts(): boolean {
    return this.#byHost !== null || this.#byValue.length > 0;
  }

  /** May `allows` ever say no? */
  get forbids(): boolean {
    return this.#onePerHost || this.forbidsValues;
  }

  /** May a pick forbid hosts other than its own? */
  get forbidsValues(): boolean {
    return this.#distinct.length > 0 || this.#room.forbids;
  }

  /** One more was placed on the host. */
  add(host: number): void {
    this.#count(host);
    this.#room.take(host);
  }

  #count(host: number): void {
    this.#byHost?.add(host);
    const { valueOf } = this.#selection;
    for (let at = 0; at < valueOf.length; at++) {
      const value = valueOf[at]?.[this.#classOf[host] ?? -1] ?? -1;
      if (value < 0) continue;
      this.#byValue[at]![value]! += 1;
    }
    for (const wish of this.#spread) {
      const cost = this.#fillingOf(wish, this.#classOf[host] ?? -1);
      if (cost !== null && cost > wish.largest) wish.largest = cost;
    }
  }

  /** Do the pools of the class's hosts take one more? */
  hasCapacity(hostClass: number): boolean {
    return this.#room.takes(hostClass);
  }

  /** Do `distinct` and the pools let one more onto the host? */
  allows(host: number): boolean {
    return this.mayAllow(host) && !this.isTaken(host);
  }

  /** Has the group the host already, which only `distinct` on single hosts asks? */
  isTaken(host: number): boolean {
    if (this.#compared.length === 0) return false;
    const slot = this.#index.slotAt(host);
    return slot !== null && this.#compared.includes(slot);
  }

  /** False: `allows` says no as well. True: so does it, unless the host is taken. */
  mayAllow(host: number): boolean {
    if (this.#onePerHost && this.#byHost!.of(host) > 0) return false;
    if (!this.#room.takes(this.#classOf[host] ?? -1)) return false;
    for (const at of this.#distinct) {
      const value = this.#selection.valueOf[at]?.[this.#classOf[host] ?? -1] ?? -1;
      if (value >= 0 && (this.#byValue[at]?.[value] ?? 0) > 0) return false;
    }
    return true;
  }

  /** The cost of the group's own company on the host. */
  sameHostCostOn(host: number): number {
    return this.sameHostCost === 0 ? 0 : this.sameHostCost * this.#byHost!.of(host);
  }

  /** The selection's attributes on which `wish` depends, and which of their values have no part of the group. */
  get spreadOver(): readonly SpreadValues[] {
    return this.#spread;
  }

  /** Affinity and spread, for any host of the class. */
  wish(number: number): number {
    let score = this.#selection.affinityOf[number] ?? 0;
    for (const wish of this.#spread)
      score -= wish.weight * (this.#fillingOf(wish, number) ?? wish.largest + 1);
    return score;
  }

  /** How far the value of the class is filled; null: it has none, or one without a part of the group. */
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
  /** By value number: its part (`spreadShares`), 0: none; null: all have the same. */
  readonly shares: Float64Array | null;
  /** How far the fullest value is filled. */
  readonly largest: number;
}

interface SpreadCount extends SpreadValues {
  readonly weight: number;
  largest: number;
}

const NO_LIST: readonly never[] = [];

function isId({ attribute }: { readonly attribute: string }): boolean {
  return plainAttribute(attribute) === 'id';
}

function cost({ weight }: Spread): number {
  return weight / WEIGHT_FULL;
}

function spreadCounts(selection: Selection, spread: readonly Spread[]): SpreadCount[] {
  const counts: SpreadCount[] = [];
  for (const [number, wish] of spread.entries()) {
    if (isId(wish)) continue;
    const at = selection.attributes.indexOf(plainAttribute(wish.attribute));
    const parts = selection.shares[number] ?? null;
    const shares =
      parts === null ? null : Float64Array.from(selection.valueNames[at]!, (name) => parts.get(name) ?? 0);
    const largest = parts === null ? 0 : fullestOf(parts);
    counts.push({ at, weight: cost(wish), shares, largest });
  }
  return counts;
}

/** The most that any value is filled when the group has nothing yet. */
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
