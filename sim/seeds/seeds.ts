/**
 * Many runs. A seed and a setting name one run: by default the small cell with faults of all kinds, and for one seed in twenty a theme of
 * the suite.
 *
 * - `main.ts`: `npm run sim`; `command-line.ts`: its arguments
 * - `pool.ts`: threads that run seeds; `worker.ts`: one of them; `run-seed.ts`: one run, and the report that is small enough to hand over
 */
import type { Theme } from '../suite/suite.ts';
import { suiteOptions, THEMES } from '../suite/suite.ts';
import type { WorldOptions } from '../world/options.ts';
import { SMALL_CELL } from '../world/scenario.ts';

/**
 * What the seeds of one call mean; plain data, so that it can be handed to another thread. Without anything: the small cell with
 * faults of all kinds, and now and then a run of the suite, by its seed.
 */
export interface SeedSetting {
  /** A kind of run of the suite (`sim/suite/suite.ts`). */
  readonly theme?: Theme | undefined;
  /** Virtual time between two faults of the small cell; null: there are none. */
  readonly everyMs?: number | null | undefined;
}

/** Six or so faults of all kinds in a run of 15 s, now and then several at a time. */
const EVERY_MS = 2_500;

/**
 * One seed in so many is a run of the suite, its themes in turn: a store that is restored or lost, a host that counts as lost and a quota take
 * more time than a run of the small cell has.
 */
const THEME_EVERY = 20;

/** What a seed runs in `npm run sim`, `moorage sim seeds` and `moorage sim replay`: it and the setting are enough to repeat its run. */
export function seedOptions(seed: number, { theme, everyMs }: SeedSetting = {}): WorldOptions {
  const ofSuite = theme ?? (everyMs === undefined ? themeAt(seed) : undefined);
  if (ofSuite !== undefined) return suiteOptions(ofSuite, seed);
  const faults = everyMs === null ? {} : { nemesis: { everyMs: everyMs ?? EVERY_MS } };
  return { seed, scenario: SMALL_CELL, faults };
}

function themeAt(seed: number): Theme | undefined {
  const turn = Math.floor(seed / THEME_EVERY);
  return seed % THEME_EVERY === THEME_EVERY - 1 ? THEMES[turn % THEMES.length] : undefined;
}

/** The command that repeats exactly this run and tells what happened. */
export function replayCommand(seed: number, { theme, everyMs }: SeedSetting = {}): string {
  const options = [
    ...(theme === undefined ? [] : [`--theme ${theme}`]),
    ...(everyMs === undefined ? [] : [everyMs === null ? '--calm' : `--every ${String(everyMs)}`]),
  ];
  return ['moorage sim replay', String(seed), ...options].join(' ');
}
