import { evictionCost, shareShort } from './band-table.ts';
import { ROW, TAKES } from './capacity-tree.ts';
import type { CellState } from './cell-state.ts';
import type { Chance } from './chance.ts';
import { DistinctCount } from './distinct-count.ts';
import { meets } from './expression.ts';
import type { HostSlot } from './host-slot.ts';
import { isEmpty } from './host-slot.ts';
import { freeOf } from './ledger.ts';
import { needOf, portsFit } from './needs.ts';
import type { PlacementRequest } from './placement-request.ts';
import { PoolRoom } from './pool-room.ts';
import { addResources, shortOf, subtractResources } from './resources.ts';
import type { Selection } from './selection.ts';

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
export type PassedHosts = Pick<ReadonlySet<string>, 'has' | 'size'>;

/** Where members of a gang go in others' place: what holds for all of them, while they are chosen one after the other. */
export interface EvictionRules {
  /** Hosts not to be named: where an eviction is under way already. */
  readonly passed: PassedHosts;
  /** What `distinct` counts, in place of the request's `hostsHeld`. */
  readonly held?: DistinctCount;
  /** Every host is looked at before none is found: for who has one that fits by his rules alone among very many that do not. */
  readonly thorough?: boolean;
}

/** Hosts that are compared for one eviction, drawn by chance: the best of sixteen is rarely far from the best of all. */
const SAMPLE = 16;
/** Steps of the search that may lead to hosts which the request's own rules exclude. */
const STEPS_MAX = 1024;

/**
 * Hosts that could take one allocation of the request if some of what has a lower precedence gave way.
 *
 * @returns at most `most` ids. First the host whose victims' highest precedence is lowest, then the one that needs the
 *   smallest part of it freed. What devices and named amounts the victims hold is not known here: `chooseVictims` says.
 */
export function evictionHosts(
  state: CellState,
  request: PlacementRequest,
  chance: Chance,
  limit: EvictionRules & { readonly most: number },
): string[] {
  const search = new HostSearch(state, request, limit);
  const found: { readonly host: number; readonly cost: number }[] = [];
  for (const host of search.hosts(chance)) {
    const cost = search.cost(host);
    if (cost === null) continue;
    search.hasFound = true;
    found.push({ host, cost });
    if (found.length >= SAMPLE) break;
  }
  return found
    .sort((a, b) => a.cost - b.cost)
    .slice(0, limit.most)
    .map(({ host }) => state.index.slot(host).id);
}

/** Would `evictionHosts` name the host, if the request were for that one alone? */
export function mayEvictOn(
  state: CellState,
  request: PlacementRequest,
  host: string,
  rules: EvictionRules,
): boolean {
  return new HostSearch(state, request, rules).names(host);
}

class HostSearch {
  readonly #state: CellState;
  readonly #request: PlacementRequest;
  readonly #selection: Selection;
  readonly #held: DistinctCount;
  readonly #room: PoolRoom;
  readonly #passed: PassedHosts;
  readonly #avoided: ReadonlySet<string>;
  readonly #isThorough: boolean;
  /** One was found, so that the search may end. */
  hasFound = false;

  constructor(state: CellState, request: PlacementRequest, rules: EvictionRules) {
    state.readAll();
    this.#state = state;
    this.#request = request;
    this.#selection = state.selections.for(request);
    this.#held = rules.held ?? new DistinctCount(state, request.group, request.hostsHeld);
    this.#room = new PoolRoom(state.pools, this.#selection, state.index, request.ask);
    this.#passed = rules.passed;
    this.#avoided = new Set([...request.avoidHosts, ...request.refusingHosts]);
    this.#isThorough = rules.thorough ?? false;
  }

  names(id: string): boolean {
    const host = this.#state.indexOf(id);
    return (
      host >= 0 && this.#allows(host) && costByLedger(this.#state.index.slot(host), this.#request) !== null
    );
  }

  *hosts(chance: Chance): IterableIterator<number> {
    const { index } = this.#state;
    const named = this.#selection.hostsNamed;
    if (named !== null) {
      for (const id of named) {
        const host = this.#state.indexOf(id);
        if (host >= 0 && this.#allows(host)) yield host;
      }
      return;
    }
    const tree = index.evictable.treeBelow(this.#request.precedence);
    const { need } = index;
    needOf(this.#request.ask, need);
    const start = tree.size > 1 ? chance.below(tree.size) : 0;
    let cursor = start;
    let wrapped = false;
    for (let steps = 0; steps < STEPS_MAX || (this.#isThorough && !this.hasFound); steps++) {
      const position = tree.seek(cursor, need);
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
  }

  /** What making room on the host costs; null: all below the precedence is not enough. */
  cost(host: number): number | null {
    const { ask, precedence } = this.#request;
    const { evictable, rows } = this.#state.index;
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
    if (!this.#held.allows(this.#state.index.slot(index), this.#selection)) return false;
    const { ports } = this.#request.ask;
    // Most requests say nothing that only the host's own record can answer.
    const plain = hostConstraints.length === 0 && isEmpty(ports);
    return plain && this.#passed.size + this.#avoided.size === 0 ? true : this.#allowsHost(index);
  }

  #allowsHost(index: number): boolean {
    const slot = this.#state.index.slot(index);
    const { host } = slot;
    if (host === undefined || this.#passed.has(slot.id) || this.#avoided.has(slot.id)) return false;
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
    if (shortOf(ask.resources, free) === null) return evictionCost(band.precedence, short);
  }
  return null;
}
