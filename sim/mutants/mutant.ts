import type { Theme } from './suite.ts';

/**
 * Planted bugs: each is one edit of one source file that takes away something on which an invariant hangs. They exist only
 * here; `npm run mutants` applies one at a time to a copy of that file and runs the simulator's suite until a checker
 * objects. A suite that misses one is too weak.
 */
export interface Mutant {
  readonly name: string;
  /** Which of the suite's runs look for it. */
  readonly theme: Theme;
  /** The slip that it stands for. */
  readonly slip: string;
  readonly file: string;
  /** Stands in the file exactly once; a test says so. */
  readonly find: string;
  readonly replace: string;
  /** The invariants that it breaks; one of them must be among what is found. */
  readonly breaks: readonly string[];
}
