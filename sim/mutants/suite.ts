import type { SeededRandom } from '../../src/core/seeded-random.ts';
import { seededRandom } from '../../src/core/seeded-random.ts';
import type { FaultSettings, WorldOptions, WorldResult } from '../world/options.ts';
import { runWorld } from '../world/run-world.ts';
import type { Scenario } from '../world/scenario.ts';
import { SMALL_CELL } from '../world/scenario.ts';

/** More jobs than ten, so that one's name begins another's (`job-1`, `job-12`). */
const CROWDED: Partial<Scenario> = { jobs: 14 };
/** Nobody stands in for a lost host: long enough for the verdict (session 10 s, then 30 s) and for a ticket to end. */
const LONG: Partial<Scenario> = { jobs: 14, activeMs: 60_000 };

/** On average one fault in such a time. */
const SELDOM_MS = 6_000;
const OFTEN_MS = 1_500;

/** What one seed of the suite runs: cells and weathers of several kinds in turn, the rest drawn from the seed. */
export function suiteOptions(seed: number): WorldOptions {
  const random = seededRandom(seed).split('suite');
  const kind = seed % 4;
  const scenario = { ...SMALL_CELL, ...(kind === 3 ? LONG : random.below(2) === 0 ? CROWDED : {}) };
  return { seed, scenario, faults: faultsOf(kind, random) };
}

function faultsOf(kind: number, random: SeededRandom): FaultSettings {
  const weather = random.below(3) === 0 ? WET : {};
  if (kind === 0) return weather;
  return { ...weather, nemesis: { everyMs: kind === 1 ? OFTEN_MS : SELDOM_MS } };
}

/** Something is wrong with one message in thirty, all the time. */
const WET: FaultSettings = {
  network: { loss: 0.01, double: 0.03, delayMaxMs: 100 },
  store: {
    ...{ requestLost: 0.03, replyLost: 0.03, late: 0.03, readFails: 0.03 },
    ...{ watchLags: 0.1, watchLagMs: 500, watchBreaks: 0.01, leaseLateMs: 3_000 },
  },
};

export function suiteRun(seed: number): Promise<WorldResult> {
  return runWorld(suiteOptions(seed));
}
