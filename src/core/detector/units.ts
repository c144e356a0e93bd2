import type { Suspect } from './suspects.ts';

/**
 * `fetch`: the host fetched what the work needs, or could not. `start`: the host took the work, or refused it for what is wrong with
 * itself. `run`: what was started is well, or ended badly. They are judged apart: that a task has run for days does not say that its
 * host starts another.
 */
export const TRIAL_KINDS = ['fetch', 'start', 'run'] as const;
export type TrialKind = (typeof TRIAL_KINDS)[number];

/** What is tried once: to start work of a revision on a host, or to have it run there. */
export interface Subject {
  /** `<namespace>/<job>` */
  readonly job: string;
  /** `<namespace>/<job>/<group>/<version>` */
  readonly revision: string;
  readonly host: string;
  /** All that may be to blame, the revision and the host among them. */
  readonly suspects: readonly Suspect[];
}

/** One revision on one host, and whether it is bad there. */
export interface Unit extends Subject {
  readonly isBad: boolean;
  readonly firstFailedAtMs: number;
  readonly lastFailedAtMs: number;
  readonly lastWellAtMs: number;
  readonly reasons: readonly string[];
}
