/**
 * Which host a task gets: chooses hosts, devices and ports for `count` allocations of a group, in memory. In order:
 *
 * 1. `placement-request.ts`: what is asked for and what comes out
 * 2. `cell-state/selections.ts` gives the strata of usable hosts; `group-count.ts` counts what the group holds, and
 *    `pool-capacity.ts` what its shared resources allow
 * 3. `strata-search.ts` searches part by part, best preference first: `search-parts.ts` numbers the strata, each divided by the
 *    `neighbourhood.ts` that the group would rather have; `preference-levels.ts` keeps that order
 * 4. `candidates.ts` draws fitting hosts of a stratum; `needs.ts` tests what a row of free amounts must show, and
 *    `host-scorer.ts` filters and scores each host
 * 5. On the host that is taken, `fit/` chooses devices (`gpu-choice.ts`) and ports
 *
 * `explain.ts` answers why hosts refuse, with `filters.ts`, one function for each check of a single host; `fits.ts` how many of a
 * group fit at once, now and in an empty cell; `score-parts.ts` what single hosts score. `PlacementPolicy.sample` decides
 * how good a place is found.
 */
import { CPU, ROW } from '../cell-state/capacity-tree.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import type { Chance } from '../random/chance.ts';
import { lossRuleOf } from '../scoring/fragmentation.ts';
import { chooseGpus, NO_SHARES } from '../fit/gpu-choice.ts';
import { GroupCount } from './group-count.ts';
import { HostScorer } from './host-scorer.ts';
import { readForNeighbours } from './neighbourhood.ts';
import type { Host } from '../host/host.ts';
import type { HostSlot, Use } from '../cell-state/host-slot.ts';
import { isEmpty } from '../cell-state/host-slot.ts';
import type { PlacementPolicy } from '../scoring/policy.ts';
import type { Placement, PlacementRequest, PlacementResult } from './placement-request.ts';
import { choosePorts, NO_PORTS } from '../fit/port-choice.ts';
import type { GpuShare } from '../cell/resources.ts';
import type { Found } from './strata-search.ts';
import { StrataSearch } from './strata-search.ts';

/** Finds a place whenever any host has one. The state is unchanged when it returns: the caller assumes the claims. */
export function place(
  state: CellState,
  request: PlacementRequest,
  chance: Chance,
  policy: PlacementPolicy,
): PlacementResult {
  const picking = new Picking(state, request, chance, policy);
  const chosen: Placement[] = [];
  try {
    while (chosen.length < request.count) {
      const placement = picking.next();
      if (placement === null) break;
      chosen.push(placement);
    }
  } finally {
    picking.undo();
  }
  return { chosen, unplaced: request.count - chosen.length };
}

/** Picks one place after the other, and takes each from the state's tables, so that the next pick sees it. */
class Picking {
  readonly #state: CellState;
  readonly #request: PlacementRequest;
  readonly #chance: Chance;
  readonly #policy: PlacementPolicy;
  readonly #group: GroupCount;
  readonly #scorer: HostScorer;
  #search: StrataSearch;
  /** What each pick takes, when there are no devices and ports to choose. */
  readonly #plainUse: Use | null;
  readonly #taken: { readonly slot: HostSlot; readonly use: Use }[] = [];

  constructor(state: CellState, request: PlacementRequest, chance: Chance, policy: PlacementPolicy) {
    this.#state = state;
    this.#request = request;
    this.#chance = chance;
    this.#policy = policy;
    readForNeighbours(state, request);
    const selection = state.selections.for(request);
    this.#group = new GroupCount(state, selection, request, policy);
    this.#scorer = new HostScorer(state, request, policy, selection, this.#group);
    const { gpu, ports, resources } = request.ask;
    this.#plainUse = gpu === null && isEmpty(ports) ? { resources, gpus: NO_SHARES, ports: NO_PORTS } : null;
    this.#search = this.#newSearch();
  }

  next(): Placement | null {
    let found = this.#search.best();
    while (found === null && this.#mayHaveMore()) {
      this.#search = this.#newSearch();
      found = this.#search.best();
    }
    return found === null ? null : this.#take(found);
  }

  /** Unread ledgers may show free capacity; they come before hosts that are to be avoided. */
  #mayHaveMore(): boolean {
    return this.#state.readAll() || this.#scorer.admitNextRank();
  }

  undo(): void {
    for (let taken = this.#taken.pop(); taken !== undefined; taken = this.#taken.pop())
      this.#state.index.shift(taken.slot, taken.use, -1);
  }

  #newSearch(): StrataSearch {
    const selection = this.#state.selections.for(this.#request);
    return new StrataSearch(this.#state, selection, this.#group, this.#scorer, this.#chance, this.#policy);
  }

  #take(found: Found): Placement {
    const index = found.candidates.hosts[found.place]!;
    const slot = this.#state.index.slot(index);
    const placement = this.#plainUse === null ? this.#placementOn(slot) : plainPlacement(slot);
    // No pick follows the last one.
    if (this.#taken.length + 1 < this.#request.count) {
      const use = this.#plainUse ?? useOf(this.#request, placement);
      this.#taken.push({ slot, use });
      this.#state.index.shift(slot, use, 1);
      this.#group.add(index);
      this.#search.picked(found);
    }
    return placement;
  }

  #placementOn(slot: HostSlot): Placement {
    const { host } = slot;
    if (host === undefined) throw new Error(`chose ${slot.id}, which is not registered`);
    const { ask } = this.#request;
    const gpus = this.#gpusOn(slot, host);
    const chosen = choosePorts(
      ask.ports,
      host.portRange,
      slot.ports ?? NO_PORTS_USED,
      this.#chance,
      slot.freed ?? NO_PORTS_FREED,
    );
    if (gpus === null || 'missing' in chosen) throw new Error(`chose ${slot.id}, which does not fit`);
    return { host: slot.id, known: slot, gpus, ports: chosen.ports };
  }

  #gpusOn({ index, gpuUsed }: HostSlot, { gpuModels }: Host): readonly GpuShare[] | null {
    const { gpu, resources } = this.#request.ask;
    const rule = lossRuleOf(this.#policy);
    if (rule === null || gpu === null)
      return chooseGpus(gpuModels, gpuUsed, gpu, this.#policy.score === 'spread' ? 'emptiest' : 'fullest');
    const cpuMilli = this.#state.index.rows[index * ROW + CPU]!;
    const state = { cpuMilli, models: gpuModels, usedMilli: gpuUsed };
    return rule.leastLoss(state, resources.cpuMilli, gpu, this.#scorer.kept)?.gpus ?? null;
  }
}

const NO_PORTS_FREED: readonly number[] = [];
const NO_PORTS_USED: ReadonlyMap<number, number> = new Map();

function plainPlacement(known: HostSlot): Placement {
  return { host: known.id, known, gpus: NO_SHARES, ports: NO_PORTS };
}

function useOf({ ask }: PlacementRequest, { gpus, ports }: Placement): Use {
  return { resources: ask.resources, gpus, ports };
}
