import type { WorldOptions } from '../world/options.ts';
import type { Scenario } from '../world/scenario.ts';
import { BUSY_CELL } from '../world/scenario.ts';

/** A run of a theme, whatever its seed. */
export type Run = Omit<WorldOptions, 'seed'>;

/** Some bugs take time: a task's fourth restart, a late message. These runs never end early. */
export const WHOLE: Scenario = { ...BUSY_CELL, quietLeastMs: BUSY_CELL.quietMs };
export const SHORT: Scenario = { ...WHOLE, activeMs: 8_000, quietMs: 24_000, quietLeastMs: 24_000 };
/** Where every answer takes its time, less is done in it. */
export const SLOW: Scenario = { ...SHORT, activeMs: 20_000 };
/** Long enough for a host to be declared lost (session 10 s, then 18 s) and for a ticket to expire (30 s). */
export const LONG: Scenario = { ...SHORT, jobs: 14, activeMs: 58_000 };
