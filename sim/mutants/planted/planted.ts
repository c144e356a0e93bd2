/**
 * What a planted bug is: one edit, rarely some, of the sources that takes away something on which an invariant hangs.
 *
 * - `commits.ts`: in what is committed, and how; `schedulers.ts`: in decisions; `hosts.ts`: in agents, tasks and tickets; `monitors.ts`: in
 *   views, events, output and quotas
 */
import type { Theme } from '../../suite/suite.ts';

/**
 * Planted bugs: each is one edit, rarely some, of the sources that takes away something on which an invariant hangs. They exist only
 * here; `npm run mutants` applies one at a time to a copy of that file and runs the simulator's suite until a checker
 * objects. A suite that misses one is too weak.
 */
export interface Mutant extends Edit {
  readonly name: string;
  /** Which of the suite's runs look for it. */
  readonly theme: Theme;
  /** The slip that it stands for. */
  readonly slip: string;
  /** Where a rule is kept in several places, each of which hides that another is gone: edits of other files. */
  readonly also?: readonly Edit[];
  /** The invariants that it breaks; one of them must be among what is found. */
  readonly breaks: readonly string[];
}

export interface Edit {
  readonly file: string;
  /** Stands in the file exactly once; a test says so. */
  readonly find: string;
  readonly replace: string;
}
