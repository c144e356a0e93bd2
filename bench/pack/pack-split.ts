import { CellState } from '../../src/core/cell-state/cell-state.ts';
import type { Chance } from '../../src/core/random/chance.ts';
import type { Claim } from '../../src/core/cell/claim.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { fitShortfall } from '../../src/core/fit/fit.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { place } from '../../src/core/placement/placement.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { chanceFor } from '../../schedulers/decide/partition.ts';

interface Decided<T> {
  readonly task: T;
  readonly claim: Claim;
}

/** What one scheduler chooses hosts by; `observe` gets each task before it is placed. */
export interface Chooser<T> {
  readonly policy: PlacementPolicy;
  readonly observe: (task: T) => void;
}

/** One of several schedulers: a private state, its share of the list, and its own part of the hosts to begin in. */
interface Competitor<T> extends Chooser<T> {
  readonly state: CellState;
  readonly chance: Chance;
  readonly queue: T[];
}

/**
 * A list dealt out to several schedulers that place at the same time: each decides some tasks on what it knew before, then
 * all commit; a claim that no longer fits conflicts and goes back to the front of its scheduler's queue.
 *
 * @param options `blind`: decisions of each scheduler before it sees the commits of the others. `onSettled` gets each task
 *   once it has a place, or no host has capacity for it
 * @returns conflicts for each committed claim
 */
export function packSplit<T>(
  hosts: readonly Host[],
  tasks: readonly T[],
  chooser: () => Chooser<T>,
  options: {
    readonly schedulers: number;
    readonly blind: number;
    readonly seed: number;
    readonly requestOf: (task: T) => PlacementRequest;
    readonly onSettled: (task: T, placed: boolean) => void;
  },
): number {
  const cell = new SharedCell(hosts);
  const parts = options.schedulers;
  const competitors = Array.from({ length: parts }, (_, part): Competitor<T> => {
    const drawn = seededRandom(options.seed * 100 + part);
    const queue = tasks.filter((__, n) => n % parts === part);
    const own = chooser();
    const chance = chanceFor(own.policy.score, drawn, () => ({ index: part, count: parts }));
    return { state: cell.copy(), chance, queue, ...own };
  });
  let made = 0;
  let committed = 0;
  let conflicts = 0;
  while (competitors.some(({ queue }) => queue.length > 0)) {
    const decided = competitors.map((one) => {
      const batch: Decided<T>[] = [];
      for (const task of one.queue.splice(0, options.blind)) {
        one.observe(task);
        const request = options.requestOf(task);
        const [chosen] = place(one.state, request, one.chance, one.policy).chosen;
        if (chosen === undefined) {
          options.onSettled(task, false);
          continue;
        }
        const claim = { id: String(made++), precedence: 50, resources: request.ask.resources, ...chosen };
        one.state.assume(claim);
        batch.push({ task, claim });
      }
      return batch;
    });
    for (const [number, batch] of decided.entries()) {
      const again: T[] = [];
      for (const { task, claim } of batch) {
        competitors[number]?.state.forget(claim);
        if (cell.commit(claim)) {
          committed += 1;
          options.onSettled(task, true);
        } else {
          conflicts += 1;
          again.push(task);
        }
      }
      competitors[number]?.queue.unshift(...again);
    }
    cell.publish(competitors.map(({ state }) => state));
  }
  return conflicts / committed;
}

/** The ledgers in the store, and which of them the schedulers have not seen yet. */
class SharedCell {
  readonly #hosts: ReadonlyMap<string, Host>;
  readonly #ledgers = new Map<string, Ledger>();
  readonly #changed = new Set<string>();
  #revision = 0;

  constructor(hosts: readonly Host[]) {
    this.#hosts = new Map(hosts.map((host) => [host.id, host]));
  }

  copy(): CellState {
    const state = new CellState();
    for (const host of this.#hosts.values()) {
      state.setHost(host);
      state.setAlive(host.id, true);
    }
    state.arrange();
    return state;
  }

  commit(claim: Claim): boolean {
    const host = this.#hosts.get(claim.host);
    const ledger = this.#ledgers.get(claim.host) ?? EMPTY_LEDGER;
    if (host === undefined || fitShortfall(host, ledger, claim) !== null) return false;
    this.#ledgers.set(claim.host, withClaim(ledger, claim));
    this.#changed.add(claim.host);
    return true;
  }

  publish(states: readonly CellState[]): void {
    this.#revision += 1;
    for (const id of this.#changed) {
      for (const state of states) state.setLedger(id, this.#ledgers.get(id) ?? EMPTY_LEDGER, this.#revision);
    }
    this.#changed.clear();
  }
}
