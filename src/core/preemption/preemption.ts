import { preemptionCost, shareShort } from '../cell-state/band-table.ts';
import { ROW, TAKES } from '../cell-state/capacity-tree.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import type { Chance } from '../random/chance.ts';
import { DistinctCount } from './distinct-count.ts';
import { meets } from '../host/attributes.ts';
import type { HostSlot } from '../cell-state/host-slot.ts';
import { isEmpty } from '../cell-state/host-slot.ts';
import { freeOf } from '../fit/ledger.ts';
import { needOf, portsFit } from '../placement/needs.ts';
import type { PlacementRequest } from '../placement/placement-request.ts';
import { PoolCapacity } from '../placement/pool-capacity.ts';
import { addResources, shortOf, subtractResources } from '../cell/resources.ts';
import type { Selection, Stratum } from '../cell-state/selection.ts';

/**
 * Making room by precedence, in two steps, since a private state knows how much each precedence holds of a host, but not
 * which allocations these are:
 *
 *   evictionHosts: state, request ──► hosts where enough lies below the request's precedence, the cheapest first
 *   chooseVictims (`victims.ts`): host, its allocations ──► the fewest and lowest that must go, and the place they make
 *
 * Ports are no reason to evict: an evicted allocation keeps its ports until its release, so only free ones are given.
 */

/** Hosts not to be named. `size` may be more than there are, and is 0 only while there are none: then `has` is not asked. */
export type ExcludedHosts = Pick<ReadonlySet<string>, 'has' | 'size'>;

/** Where members of a gang go in others' place: what holds for all of them, while they are chosen one after the other. */
export interface PreemptionRules {
  /** Hosts not to be named: where an eviction is under way already. */
  readonly excluded: ExcludedHosts;
  /** What `distinct` counts, in place of the request's `hostsHeld`. */
  readonly held?: DistinctCount;
}

/**
 * Hosts that are compared for one eviction, drawn by chance: the one chosen is dearer than the cheapest q-th part of all that
 * make room with a probability of at most (1 − q)^16.
 */
const SAMPLE = 16;
/**
 * Hosts with enough below the precedence that are asked first, whatever the request's own rules say of them. When these
 * rules have excluded all of them, or from the start when they leave few hosts, only the hosts of classes that
 * they allow are looked at, and then each of them: none is missed.
 */
const STEPS_MAX = 1024;
/** Rules that leave no more than one host in so many leave few. */
const RARE = 8;

/**
 * Hosts that could take one allocation of the request if some of what has a lower precedence gave way.
 *
 * @returns at most `most` ids. First the host whose victims' highest precedence is lowest, then the one that needs the
 *   smallest part of it freed. What devices and named amounts the victims hold is not known here: `chooseVictims` says.
 */
export function preemptionHosts(
  state: CellState,
  request: PlacementRequest,
  chance: Chance,
  limit: PreemptionRules & { readonly most: number },
): string[] {
  const search = new HostSearch(state, request, limit);
  let found = search.cheapest(search.hosts(chance));
  if (found.length === 0 && !search.isComplete) found = search.cheapest(search.allowedHosts(chance));
  return found
    .sort((a, b) => a.cost - b.cost)
    .slice(0, limit.most)
    .map(({ host }) => state.index.slot(host).id);
}

/** Would `evictionHosts` name the host, if the request were for that one alone? */
export function mayPreemptOn(
  state: CellState,
  request: PlacementRequest,
  host: string,
  rules: PreemptionRules,
): boolean {
  return new HostSearch(state, request, rules).names(host);
}

/** A host where room can be made, and what that costs. */
interface Priced {
  readonly host: number;
  readonly cost: number;
}

class HostSearch {
  readonly #state: CellState;
  readonly #request: PlacementRequest;
  readonly #selection: Selection;
  readonly #held: DistinctCount;
  readonly #room: PoolCapacity;
  readonly #excluded: ExcludedHosts;
  readonly #avoided: ReadonlySet<string>;
  /** Has `hosts` named every host there is to name? */
  isComplete = true;

  constructor(state: CellState, request: PlacementRequest, rules: PreemptionRules) {
    state.readAll();
    this.#state = state;
    this.#request = request;
    this.#selection = state.selections.for(request);
    this.#held = rules.held ?? new DistinctCount(state, request.group, request.hostsHeld);
    this.#room = new PoolCapacity(state.pools, this.#selection, state.index, request.ask);
    this.#excluded = rules.excluded;
    this.#avoided = new Set([...request.avoidHosts, ...request.refusingHosts]);
  }

  names(id: string): boolean {
    const host = this.#state.indexOf(id);
    return (
      host >= 0 && this.#allows(host) && costByLedger(this.#state.index.slot(host), this.#request) !== null
    );
  }

  /** Drawn by chance, with what making room on each costs. */
  cheapest(hosts: Iterable<number>): Priced[] {
    const found: Priced[] = [];
    for (const host of hosts) {
      const cost = this.cost(host);
      if (cost === null) continue;
      found.push({ host, cost });
      if (found.length >= SAMPLE) break;
    }
    return found;
  }

  /** Hosts that the rules allow, from a random one on. Where `isComplete` is false after the last, there may be others. */
  *hosts(chance: Chance): IterableIterator<number> {
    const { index } = this.#state;
    const { hostsNamed, inOrder } = this.#selection;
    if (hostsNamed !== null) {
      for (const id of hostsNamed) {
        const host = this.#state.indexOf(id);
        if (host >= 0 && this.#allows(host)) yield host;
      }
      return;
    }
    if (this.#selection.hosts * RARE <= index.size) {
      yield* this.#listed(inOrder(), chance);
      return;
    }
    const tree = index.preemption.treeBelow(this.#request.precedence);
    needOf(this.#request.ask, index.need);
    const start = tree.size > 1 ? chance.below(tree.size) : 0;
    let cursor = start;
    let wrapped = false;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const position = tree.seek(cursor, index.need);
      if (wrapped && (position < 0 || position >= start)) return;
      if (position < 0) {
        wrapped = true;
        cursor = 0;
        continue;
      }
      cursor = position + 1;
      const host = tree.hostAt(position);
      if (this.#allows(host)) yield host;
    }
    this.isComplete = false;
  }

  /** Every host that the rules allow and that shows enough. Nothing is walked over where they allow no class. */
  *allowedHosts(chance: Chance): IterableIterator<number> {
    const { strata } = this.#selection;
    const isAllowed = ({ classes }: Stratum): boolean => classes.some((each) => this.#allowsClass(each));
    if (strata.some(isAllowed)) yield* this.#listed(this.#selection.inOrder(), chance);
  }

  /** @param hosts null: all there are */
  *#listed(hosts: Int32Array | null, chance: Chance): IterableIterator<number> {
    const { preemption: evictable, need, size } = this.#state.index;
    const tree = evictable.treeBelow(this.#request.precedence);
    needOf(this.#request.ask, need);
    const count = hosts?.length ?? size;
    const start = count > 1 ? chance.below(count) : 0;
    for (let step = 0; step < count; step++) {
      const at = start + step < count ? start + step : start + step - count;
      const host = hosts === null ? at : hosts[at]!;
      if (tree.shows(host, need) && this.#allows(host)) yield host;
    }
  }

  /** What making room on the host costs; null: all below the precedence is not enough. */
  cost(host: number): number | null {
    const { ask, precedence } = this.#request;
    const { preemption: evictable, rows } = this.#state.index;
    // Named amounts are in no table, and hosts named by the request were not brought up to date there.
    const inTable = this.#selection.hostsNamed === null && isEmpty(ask.resources.scalars);
    if (!inTable || !evictable.bands.covers(host))
      return costByLedger(this.#state.index.slot(host), this.#request);
    return evictable.bands.cost(host, ask.resources, precedence, rows, host * ROW);
  }

  /** All that no eviction changes. */
  #allows(index: number): boolean {
    const { rows, classes } = this.#state.index;
    if (rows[index * ROW + TAKES] !== 1) return false;
    const { stratumOf, hostConstraints } = this.#selection;
    const hostClass = classes.classOf[index] ?? -1;
    if ((stratumOf[hostClass] ?? -1) < 0 || !this.#room.takes(hostClass)) return false;
    if (!this.#held.allowsAt(index, this.#selection)) return false;
    const { ports } = this.#request.ask;
    // Most requests say nothing that only the host's own record can answer.
    const plain = hostConstraints.length === 0 && isEmpty(ports);
    return plain && this.#excluded.size + this.#avoided.size === 0 ? true : this.#allowsHost(index);
  }

  /** What of it holds for all hosts of a class that the selection has: false for what each of them is refused by. */
  #allowsClass(hostClass: number): boolean {
    return this.#room.takes(hostClass) && this.#held.allowsClass(hostClass, this.#selection);
  }

  #allowsHost(index: number): boolean {
    const slot = this.#state.index.slot(index);
    const { host } = slot;
    if (host === undefined || this.#excluded.has(slot.id) || this.#avoided.has(slot.id)) return false;
    const { hostConstraints } = this.#selection;
    return (
      hostConstraints.every((expression) => meets(host, expression)) &&
      portsFit(slot, host, this.#request.ask)
    );
  }
}

/** The cost by the host's ledger and the claims in flight: what the table says in short. */
export function costByLedger(slot: HostSlot, { ask, precedence }: PlacementRequest): number | null {
  const { host, ledger, inFlight } = slot;
  if (host === undefined) return null;
  let free = freeOf(host, ledger);
  for (const claim of inFlight) free = subtractResources(free, claim.resources);
  const { capacity, reserved } = host;
  const short = shareShort(
    ask.resources.cpuMilli - free.cpuMilli,
    capacity.cpuMilli - reserved.cpuMilli,
    ask.resources.memoryMib - free.memoryMib,
    capacity.memoryMib - reserved.memoryMib,
  );
  for (const band of ledger.bands) {
    if (band.precedence >= precedence) break;
    free = addResources(free, band);
    if (shortOf(ask.resources, free) === null) return preemptionCost(band.precedence, short);
  }
  return null;
}
