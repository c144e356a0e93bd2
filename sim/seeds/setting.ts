import type { WorldOptions } from '../world/options.ts';
import { SMALL_CELL } from '../world/scenario.ts';
import type { SeedSetting } from './run-seed.ts';

/** Six or so faults of all kinds in a run of 15 s, now and then several at a time. */
const EVERY_MS = 2_500;

/**
 * What a seed means to `npm run sim`, `moorage sim seeds` and `moorage sim replay`: a number is enough to repeat its run.
 * @param everyMs virtual time between two faults
 */
export function seedSetting(everyMs = EVERY_MS): SeedSetting {
  return { scenario: SMALL_CELL, faults: { nemesis: { everyMs } } };
}

export function seedOptions(seed: number): WorldOptions {
  return { seed, ...seedSetting() };
}
