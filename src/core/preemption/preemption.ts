/**
 * Preemption by precedence, in two steps, since a cell state knows how much each precedence holds of a host, but not
 * which allocations these are:
 *
 *   preemptionHosts: state, request ──► hosts where enough is held below the request's precedence, the cheapest first
 *   chooseVictims (`victims.ts`): host, its allocations ──► the fewest and lowest that must go, and the place they make
 *
 * `distinct-count.ts` counts what `distinct` forbids. Ports are no reason to preempt: an evicted allocation holds its
 * ports until its release, so only free ones are given. That nothing can be preempted is not remembered: any change of a
 * ledger, a pool or the group would end that knowledge. `docs/decisions/eviction-and-preemption.md`
 */
import { SURPLUS_PRECEDENCE } from '../cell/claim.ts';
import { preemptionCost, shareShort } from '../cell-state/band-table.ts';
import { ROW, TAKES } from '../cell-state/capacity-tree.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import type { DomainRule } from '../cell-state/neighbour-domains.ts';
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

/** Hosts not to name. `size` may be an upper bound, and is 0 only if there are none. */
export type ExcludedHosts = Pick<ReadonlySet<string>, 'has' | 'size'>;

/** What holds for all members of a gang while their hosts are chosen one after the other. */
export interface PreemptionRules {
  /** Hosts on which a preemption is pending. */
  readonly excluded: ExcludedHosts;
  /** What `distinct` counts, instead of the request's `hostsHeld`. */
  readonly held?: DistinctCount;
}

/**
 * Hosts compared for one preemption, drawn at random: the one chosen is dearer than the cheapest q-th part of all with a
 * probability of at most (1 − q)^16.
 */
const SAMPLE = 16;
/**
 * Hosts with enough below the precedence that are tried first, whatever the request's rules. When the rules exclude all of
 * them, or leave few hosts from the start, every host of the classes that they allow is tried: none is missed.
 */
const STEPS_MAX = 1024;
/** Rules that leave at most one host in so many leave few. */
const RARE = 8;

/**
 * Hosts that fit one allocation of the request without some claims of lower precedence.
 *
 * @returns at most `most` ids: by the victims' highest precedence, then by the part of the host to free; only those where surplus
 *   of elastic groups is enough, if there are any. Which devices and
 *   scalars the victims hold is not known here: `chooseVictims` decides.
 */
export function preemptionHosts(
  state: CellState,
  request: PlacementRequest,
  chance: Chance,
  limit: PreemptionRules & { readonly most: number },
): string[] {
  const surplusOnly = surplusRequest(state, request);
  const enough = surplusOnly === null ? [] : namedBy(state, surplusOnly, chance, limit);
  return enough.length > 0 ? enough : namedBy(state, request, chance, limit);
}

/**
 * The same for surplus of elastic groups alone: what it makes room for preempts nobody else, wherever in the cell it is. Ledgers do
 * not say who holds a device, so requests for devices compare surplus with all else.
 * @returns null: there is none, or it may not be all that goes
 */
function surplusRequest(state: CellState, request: PlacementRequest): PlacementRequest | null {
  const precedence = SURPLUS_PRECEDENCE + 1;
  state.readAll();
  const isSplit = state.hasSurplus && request.precedence > precedence && needsNoDevice(request.ask);
  return isSplit ? { ...request, precedence } : null;
}

function needsNoDevice({ gpu }: PlacementRequest['ask']): boolean {
  return gpu === null || gpu.count === 0;
}

function namedBy(
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

/** Would `preemptionHosts` name the host, if it were the only one? */
export function mayPreemptOn(
  state: CellState,
  request: PlacementRequest,
  host: string,
  rules: PreemptionRules,
): boolean {
  return new HostSearch(state, request, rules).names(host);
}

/** A host where preemption is possible, and its cost. */
interface Priced {
  readonly host: number;
  readonly cost: number;
}

class HostSearch {
  readonly #state: CellState;
  readonly #request: PlacementRequest;
  readonly #selection: Selection;
  readonly #held: DistinctCount;
  readonly #pools: PoolCapacity;
  readonly #domainRules: readonly DomainRule[];
  readonly #excluded: ExcludedHosts;
  readonly #avoided: ReadonlySet<string>;
  /** Has `hosts` named every possible host? */
  isComplete = true;

  constructor(state: CellState, request: PlacementRequest, rules: PreemptionRules) {
    state.readAll();
    this.#state = state;
    this.#request = request;
    this.#selection = state.selections.for(request);
    this.#held = rules.held ?? new DistinctCount(state, request.group, request.hostsHeld);
    this.#pools = new PoolCapacity(state.pools, this.#selection, state.index, request.ask);
    this.#domainRules = state.index.domains.rulesFor(request.ask.resources.scalars);
    this.#excluded = rules.excluded;
    this.#avoided = new Set([...request.avoidHosts, ...request.refusingHosts]);
  }

  names(id: string): boolean {
    const host = this.#state.indexOf(id);
    return (
      host >= 0 && this.#allows(host) && costByLedger(this.#state.index.slot(host), this.#request) !== null
    );
  }

  /** The first `SAMPLE` of the hosts, with their costs. */
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

  /** Hosts that the rules allow, from a random one on; afterwards `isComplete` says whether these were all. */
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

  /** Every host that the rules allow and that shows enough. Walks over nothing where they allow no class. */
  *allowedHosts(chance: Chance): IterableIterator<number> {
    const { strata } = this.#selection;
    const isAllowed = ({ classes }: Stratum): boolean => classes.some((each) => this.#allowsClass(each));
    if (strata.some(isAllowed)) yield* this.#listed(this.#selection.inOrder(), chance);
  }

  /** @param hosts null: all */
  *#listed(hosts: Int32Array | null, chance: Chance): IterableIterator<number> {
    const { preemption, need, size } = this.#state.index;
    const tree = preemption.treeBelow(this.#request.precedence);
    needOf(this.#request.ask, need);
    const count = hosts?.length ?? size;
    const start = count > 1 ? chance.below(count) : 0;
    for (let step = 0; step < count; step++) {
      const at = start + step < count ? start + step : start + step - count;
      const host = hosts === null ? at : hosts[at]!;
      if (tree.shows(host, need) && this.#allows(host)) yield host;
    }
  }

  /** The cost of a preemption on the host; null: all below the precedence is not enough. */
  cost(host: number): number | null {
    const { ask, precedence } = this.#request;
    const { preemption, rows } = this.#state.index;
    // Scalars are not in the table, and `hosts` does not update it for hosts that the request names.
    const inTable = this.#selection.hostsNamed === null && isEmpty(ask.resources.scalars);
    if (!inTable || !preemption.bands.covers(host))
      return costByLedger(this.#state.index.slot(host), this.#request);
    return preemption.bands.cost(host, ask.resources, precedence, rows, host * ROW);
  }

  /** Everything that no preemption changes. */
  #allows(index: number): boolean {
    const { rows, classes } = this.#state.index;
    if (rows[index * ROW + TAKES] !== 1) return false;
    const { stratumOf, hostConstraints } = this.#selection;
    const hostClass = classes.classOf[index] ?? -1;
    if ((stratumOf[hostClass] ?? -1) < 0 || !this.#takes(hostClass)) return false;
    if (!this.#held.allowsAt(index, this.#selection)) return false;
    const { ports } = this.#request.ask;
    // Most requests need nothing of the host's own record.
    const plain = hostConstraints.length === 0 && isEmpty(ports);
    return plain && this.#excluded.size + this.#avoided.size === 0 ? true : this.#allowsHost(index);
  }

  /** False: `#allows` is false for every host of the class. */
  #allowsClass(hostClass: number): boolean {
    return this.#takes(hostClass) && this.#held.allowsClass(hostClass, this.#selection);
  }

  /** Do pools and neighbours in its rack, zone and so on take one more there? No preemption changes that. */
  #takes(hostClass: number): boolean {
    if (!this.#pools.takes(hostClass)) return false;
    const { domains, classes } = this.#state.index;
    return domains.takes(classes, hostClass, this.#domainRules);
  }

  #allowsHost(index: number): boolean {
    const slot = this.#state.index.slot(index);
    const { host } = slot;
    if (host === undefined || this.#excluded.has(slot.id) || this.#avoided.has(slot.id)) return false;
    const { hostConstraints } = this.#selection;
    const { ask } = this.#request;
    return (
      hostConstraints.every((expression) => meets(host, expression)) &&
      (isEmpty(ask.ports) || portsFit(slot, host, ask))
    );
  }
}

/** The cost computed from the host's ledger and the claims in flight; `BandTable.cost` is the fast way. */
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
