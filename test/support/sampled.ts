import { expect } from 'vitest';
import type { CellState } from '../../src/core/cell-state/cell-state.ts';
import type { Chance } from '../../src/core/random/chance.ts';
import type { TaskMix } from '../../src/core/scoring/fragmentation.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { place } from '../../src/core/placement/placement.ts';
import { rankByWalk } from './placement-walk.ts';
import {
  amounts,
  chanceOf,
  expr,
  largeCell,
  load,
  makeGroup,
  makeRequest,
} from '../unit/core/placement/placement-fixtures.ts';

const HOSTS = 600;
const SAMPLE = 16;
/** Searches of one cell meet the same hosts, so few of each are made. */
const CELLS = 60;
const SEARCHES = 5;
/** Best parts of the hosts, of which the promise is held. */
const PARTS = [0.02, 0.05, 0.1, 0.25];
/** Standard deviations by which a fair draw may miss: once in some million cases. */
const DEVIATIONS = 5;

const MIX: TaskMix = [
  { cpuMilli: 1000, gpu: null, weight: 2 },
  { cpuMilli: 500, gpu: { count: 1, milliEach: 500, models: [] }, weight: 3 },
  { cpuMilli: 2000, gpu: { count: 2, milliEach: 1000, models: ['T4'] }, weight: 1 },
];

const plain = { resources: amounts(500, 512) };

/** What tasks ask for that makes searches differ. */
export const WISHES: Readonly<Record<string, PlacementRequest>> = {
  'nothing special': makeRequest(plain),
  'a part of a device': makeRequest({ ...plain, gpu: { count: 1, milliEach: 200, models: [] } }),
  'a constraint': makeRequest({ ...plain, group: makeGroup({ constraints: [expr('os', '==', 'linux')] }) }),
  'an affinity': makeRequest({
    ...plain,
    group: makeGroup({ affinities: [{ expression: expr('zone', '==', 'rare'), weight: 30 }] }),
  }),
  'a spread': makeRequest({ ...plain, group: makeGroup({ spread: [{ attribute: 'zone', weight: 50 }] }) }),
};

/** Cells of loaded hosts, drawn from a seed, with the score of every host for what was asked of them before. */
export class SampledCells {
  readonly #seed: number;
  readonly #cells: readonly CellState[];
  readonly #scores = new Map<string, readonly ReadonlyMap<string, number>[]>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#cells = Array.from({ length: CELLS }, (_, n) => {
      const state = largeCell(seed + n, HOSTS);
      load(state, chanceOf(seed + n), HOSTS, (3 * HOSTS) / 2);
      return state;
    });
  }

  /**
   * Holds searches to what `PlacementPolicy.sample` says: a pick is worse than the best q-th part of the hosts that fit with a
   * probability of at most (1 − q)^k.
   *
   * @param wish one of `WISHES`
   * @param searchOf the chance of one search
   */
  expectPromise(score: PlacementPolicy['score'], wish: string, searchOf: (chance: Chance) => Chance): void {
    const request = WISHES[wish];
    if (request === undefined) throw new Error(`there is no wish "${wish}"`);
    const policy: PlacementPolicy = { name: 'any', score, mix: MIX, sample: SAMPLE, sameHostCost: 0 };
    const scores = this.#scoresOf(wish, request, policy);
    const chance = chanceOf(this.#seed);
    const better = this.#cells.flatMap((state, n) =>
      Array.from({ length: SEARCHES }, () => {
        const host = place(state, request, searchOf(chance), policy).chosen[0]?.host;
        return betterThan(host, scores[n] ?? new Map());
      }),
    );
    for (const part of PARTS) {
      const promised = (1 - part) ** SAMPLE;
      const worse = better.filter((share) => share > part).length / better.length;
      const noise = DEVIATIONS * Math.sqrt((promised * (1 - promised)) / better.length);
      const what = `worse than the best ${String(part)}, seed ${String(this.#seed)}`;
      expect(worse, what).toBeLessThan(promised + noise);
    }
  }

  #scoresOf(
    wish: string,
    request: PlacementRequest,
    policy: PlacementPolicy,
  ): readonly ReadonlyMap<string, number>[] {
    const name = `${policy.score} ${wish}`;
    const scores = this.#scores.get(name) ?? this.#cells.map((state) => rankByWalk(state, request, policy));
    this.#scores.set(name, scores);
    for (const { size } of scores) expect(size).toBeGreaterThan(5 * SAMPLE);
    return scores;
  }
}

/** The part of the hosts that fit which are better than this one. */
function betterThan(host: string | undefined, scores: ReadonlyMap<string, number>): number {
  const picked = scores.get(host ?? '') ?? -Infinity;
  return [...scores.values()].filter((score) => score > picked).length / scores.size;
}
