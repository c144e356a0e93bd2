/**
 * Planted bugs: a test of the simulator itself. `npm run mutants` (`scripts/mutants.mjs`) applies one edit of the sources at a time and runs the suite
 * until a checker objects. A bug counts as found only by an invariant of its `breaks`, and only if the same run holds with
 * unchanged sources; a suite that misses one is too weak (`docs/decisions/simulator.md`).
 *
 * - `planted`: the bugs, by the part of the system that they are in
 * - `main.ts`: the process that runs the suite against one bug
 * - `found-by.json`: the seed that found each bug last; it is tried first
 */
import type { Mutant } from './planted/planted.ts';
import { IN_COMMITS } from './planted/commits.ts';
import { IN_HOSTS } from './planted/hosts.ts';
import { IN_MONITORS } from './planted/monitors.ts';
import { IN_SCHEDULERS } from './planted/schedulers.ts';

/** All planted bugs. */
export const MUTANTS: readonly Mutant[] = [...IN_COMMITS, ...IN_SCHEDULERS, ...IN_HOSTS, ...IN_MONITORS];
