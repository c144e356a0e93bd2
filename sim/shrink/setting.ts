import type { FaultSettings, WorldOptions } from '../world/options.ts';
import { SMALL_CELL } from '../world/scenario.ts';

/** All kinds of faults, one in a second and a half: in a run of 15 s about ten, several at a time. */
const HOSTILE: FaultSettings = { nemesis: { everyMs: 1_500 } };

/** What `moorage sim replay` and `sim seeds` run for a seed: a number is enough to repeat it. */
export function seedOptions(seed: number): WorldOptions {
  return { seed, scenario: SMALL_CELL, faults: HOSTILE };
}

/** Less than this in a run of that setting, and it has tested nothing. */
export const SEED_LEAST = { acknowledged: 3, committed: 3, started: 3, ended: 2, finalViews: 2 };
