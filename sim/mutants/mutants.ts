import type { Mutant } from './planted/planted.ts';
import { IN_COMMITS } from './planted/commits.ts';
import { IN_HOSTS } from './planted/hosts.ts';
import { IN_MONITORS } from './planted/monitors.ts';
import { IN_SCHEDULERS } from './planted/schedulers.ts';

/** All planted bugs. */
export const MUTANTS: readonly Mutant[] = [...IN_COMMITS, ...IN_SCHEDULERS, ...IN_HOSTS, ...IN_MONITORS];
