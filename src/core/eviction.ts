import type { CellState } from './cell-state.ts';
import type { Chance } from './chance.ts';
import type { Claim } from './claim.ts';
import { meets } from './expression.ts';
import { chooseGpus } from './gpu-choice.ts';
import { GroupCount } from './group-count.ts';
import type { Host } from './host.ts';
import { allocatable } from './host.ts';
import type { HostSlot } from './host-slot.ts';
import { takesWork } from './host-slot.ts';
import type { Ledger } from './ledger.ts';
import { fitShortfall, freeOf, holdsUse, withoutUse } from './ledger.ts';
import { needOf, portsFit } from './needs.ts';
import type { Placement, PlacementPolicy, PlacementRequest } from './placement-request.ts';
import { choosePorts, NO_PORTS } from './port-choice.ts';
import type { Resources } from './resources.ts';
import { addResources, GPU_MILLI_PER_DEVICE, shortOf } from './resources.ts';
import type { Selection } from './selection.ts';

/**
 * Making room by precedence, in two steps, since a private state knows how much each precedence holds of a host, but not
 * which allocations these are:
 *
 *   evictionHosts: state, request ──► hosts where enough lies below the request's precedence, the cheapest first
 *   chooseVictims: host, its allocations ──► the fewest and lowest that must go, and the place that they make
 *
 * Ports are no reason to evict: an evicted allocation keeps its ports until its release, so only free ones are given.
 */

/** Hosts that are compared for one eviction, drawn by chance: the best of sixteen is rarely far from the best of all. */
const SAMPLE = 16;
/** Steps of the search that may lead to hosts which the request's own rules exclude. */
const STEPS_MAX = 1024;

/**
 * Hosts that could take one allocation of the request if some of what has a lower precedence gave way.
 *
 * @param passed hosts not to be named: where an eviction is under way already
 * @returns at most `most` ids. First the host whose victims' highest precedence is lowest, then the one that needs the
 *   smallest part of it freed. What devices and named amounts the victims hold is not known here: `chooseVictims` says.
 */
export function evictionHosts(
  state: CellState,
  request: PlacementRequest,
  chance: Chance,
  policy: PlacementPolicy,
  limit: { readonly most: number; readonly passed: ReadonlySet<string> },
): string[] {
  const search = new HostSearch(state, request, policy, limit.passed);
  const found: { readonly id: string; readonly cost: number }[] = [];
  for (const slot of search.hosts(chance)) {
    const cost = costOf(slot, request);
    if (cost !== null) found.push({ id: slot.id, cost });
    if (found.length >= SAMPLE) break;
  }
  return found
    .sort((a, b) => a.cost - b.cost)
    .slice(0, limit.most)
    .map(({ id }) => id);
}

class HostSearch {
  readonly #state: CellState;
  readonly #request: PlacementRequest;
  readonly #selection: Selection;
  readonly #group: GroupCount;
  readonly #passed: ReadonlySet<string>;
  readonly #avoided: ReadonlySet<string>;

  constructor(
    state: CellState,
    request: PlacementRequest,
    policy: PlacementPolicy,
    passed: ReadonlySet<string>,
  ) {
    state.readAll();
    this.#state = state;
    this.#request = request;
    this.#selection = state.selections.for(request);
    this.#group = new GroupCount(this.#selection, state.index, request, policy);
    this.#passed = passed;
    this.#avoided = new Set(request.avoidHosts);
    if (!this.#group.counts) return;
    for (const id of request.hostsHeld) {
      const index = state.indexOf(id);
      if (index >= 0) this.#group.add(index);
    }
  }

  *hosts(chance: Chance): IterableIterator<HostSlot> {
    const { index } = this.#state;
    const named = this.#selection.hostsNamed;
    if (named !== null) {
      for (const id of named) {
        const slot = index.slotAt(this.#state.indexOf(id));
        if (slot !== null && this.#allows(slot)) yield slot;
      }
      return;
    }
    const tree = index.evictable.treeBelow(this.#request.precedence);
    const { need } = index;
    needOf(this.#request.ask, need);
    const start = tree.size > 1 ? chance.below(tree.size) : 0;
    let cursor = start;
    let wrapped = false;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const position = tree.seek(cursor, need);
      if (wrapped && (position < 0 || position >= start)) return;
      if (position < 0) {
        wrapped = true;
        cursor = 0;
        continue;
      }
      cursor = position + 1;
      const slot = index.slot(tree.hostAt(position));
      if (this.#allows(slot)) yield slot;
    }
  }

  /** All that no eviction changes. */
  #allows(slot: HostSlot): boolean {
    const { host } = slot;
    if (host === undefined || !takesWork(slot)) return false;
    if (this.#passed.has(slot.id) || this.#avoided.has(slot.id)) return false;
    const { stratumOf, hostConstraints } = this.#selection;
    if ((stratumOf[this.#state.index.classes.classOf[slot.index] ?? -1] ?? -1) < 0) return false;
    if (!hostConstraints.every((expression) => meets(host, expression))) return false;
    return this.#group.allows(slot.index) && portsFit(slot, host, this.#request.ask);
  }
}

/** Of two costs, the one with the lower highest precedence is less; the fraction is the part of the host to be freed. */
function costOf(slot: HostSlot, { ask, precedence }: PlacementRequest): number | null {
  const { host, ledger, inFlight } = slot;
  if (host === undefined) return null;
  const whole = allocatable(host);
  let free = freeOf(host, ledger);
  for (const claim of inFlight) free = addResources(free, negative(claim.resources));
  const before = free;
  let highest = -1;
  for (const band of bandsBelow(ledger, precedence)) {
    highest = band;
    free = addResources(free, ledger.bands[band]!);
    if (shortOf(ask.resources, free) !== null) continue;
    return highest + Math.min(0.999, shareShort(ask.resources, before, whole));
  }
  return null;
}

function bandsBelow(ledger: Ledger, precedence: number): number[] {
  return Object.keys(ledger.bands)
    .map(Number)
    .filter((band) => band < precedence)
    .sort((a, b) => a - b);
}

function negative({ cpuMilli, memoryMib, diskMib, scalars }: Resources): Resources {
  const less: Record<string, number> = {};
  for (const name in scalars) less[name] = -(scalars[name] ?? 0);
  return { cpuMilli: -cpuMilli, memoryMib: -memoryMib, diskMib: -diskMib, scalars: less };
}

/** How much of the whole is missing for the ask, over cpu and memory, 0 to 1. */
function shareShort(asked: Resources, free: Resources, whole: Resources): number {
  const part = (need: number, have: number, all: number): number =>
    all <= 0 ? 0 : Math.max(0, need - have) / all;
  return (
    (part(asked.cpuMilli, free.cpuMilli, whole.cpuMilli) +
      part(asked.memoryMib, free.memoryMib, whole.memoryMib)) /
    2
  );
}

/** Who gives way, and the place that it makes. */
export interface EvictionChoice<T extends Claim> {
  /** In the order in which they were preferred: lowest precedence first. At least one. */
  readonly victims: readonly T[];
  readonly placement: Placement;
}

/**
 * The victims on one host for one allocation of the request: all of lower precedence; the lowest first, then as few and
 * as small as will do; without any one of them it would not fit.
 *
 * @param ledger as known, with own claims under way
 * @param running what may give way on the host; those of equal or higher precedence are passed over, and those that the
 *   ledger no longer holds
 * @returns null when it does not fit even with all of them gone, or fits without any
 */
export function chooseVictims<T extends Claim>(
  host: Host,
  ledger: Ledger,
  request: PlacementRequest,
  running: readonly T[],
  chance: Chance,
): EvictionChoice<T> | null {
  const order = running
    .filter((claim) => claim.precedence < request.precedence && holdsUse(ledger, claim))
    .map((claim) => ({ claim, size: sizeOn(host, claim) }))
    .sort((a, b) => a.claim.precedence - b.claim.precedence || a.size - b.size);
  const fits = (left: Ledger): boolean => placeIn(host, left, request, NO_CHANCE) !== null;
  if (fits(ledger)) return null;
  const chosen: Sized<T>[] = [];
  let left = ledger;
  while (!fits(left)) {
    const next = nextVictim(order, left, fits);
    if (next === null) return null;
    // Each is in the ledger for itself; all together need not be, when what is known of the host is old.
    if (!holdsUse(left, next.claim)) continue;
    chosen.push(next);
    left = withoutUse(left, next.claim);
  }
  const victims = withoutNeedless(ledger, chosen, fits).map(({ claim }) => claim);
  const placement = placeIn(host, victims.reduce(withoutUse, ledger), request, chance);
  if (placement === null) throw new Error(`the victims on ${host.id} do not make room`);
  return { victims, placement };
}

interface Sized<T extends Claim> {
  readonly claim: T;
  /** The part of the host that it holds. */
  readonly size: number;
}

/**
 * Takes the next victim out of `order`: from the lowest precedence that is left the smallest one that is enough by
 * itself; when none is, the largest.
 */
function nextVictim<T extends Claim>(
  order: Sized<T>[],
  left: Ledger,
  fits: (ledger: Ledger) => boolean,
): Sized<T> | null {
  const lowest = order[0]?.claim.precedence;
  if (lowest === undefined) return null;
  let end = 0;
  while (end < order.length && order[end]?.claim.precedence === lowest) end += 1;
  // They are in order of size over all dimensions, and what is enough in one need not be in another: each is tried.
  for (let at = 0; at < end; at++) {
    const { claim } = order[at]!;
    if (holdsUse(left, claim) && fits(withoutUse(left, claim))) return order.splice(at, 1)[0] ?? null;
  }
  return order.splice(end - 1, 1)[0] ?? null;
}

/** Spares whom the later choices made needless: the highest precedence first, then the largest. */
function withoutNeedless<T extends Claim>(
  ledger: Ledger,
  chosen: readonly Sized<T>[],
  fits: (ledger: Ledger) => boolean,
): Sized<T>[] {
  let kept = [...chosen].sort((a, b) => a.claim.precedence - b.claim.precedence || a.size - b.size);
  for (const one of [...kept].reverse()) {
    const fewer = kept.filter((other) => other !== one);
    if (fits(fewer.reduce((left, { claim }) => withoutUse(left, claim), ledger))) kept = fewer;
  }
  return kept;
}

const NO_CHANCE: Chance = { fraction: () => 0, below: () => 0 };

function placeIn(host: Host, ledger: Ledger, request: PlacementRequest, chance: Chance): Placement | null {
  const { ask, precedence } = request;
  const gpus = chooseGpus(host.gpuModels, ledger.gpuMilli, ask.gpu, 'fullest');
  if (gpus === null) return null;
  const claim = { id: '', host: host.id, precedence, resources: ask.resources, gpus, ports: NO_PORTS };
  if (fitShortfall(host, ledger, claim) !== null) return null;
  const chosen = choosePorts(ask.ports, host.portRange, new Set(ledger.ports), chance);
  return 'missing' in chosen ? null : { host: host.id, gpus, ports: chosen.ports };
}

function sizeOn(host: Host, { resources, gpus }: Claim): number {
  const whole = allocatable(host);
  const part = (used: number, all: number): number => (all <= 0 ? 0 : used / all);
  const gpuMilli = gpus.reduce((sum, { milli }) => sum + milli, 0);
  return (
    part(resources.cpuMilli, whole.cpuMilli) +
    part(resources.memoryMib, whole.memoryMib) +
    part(gpuMilli, host.gpuModels.length * GPU_MILLI_PER_DEVICE)
  );
}
