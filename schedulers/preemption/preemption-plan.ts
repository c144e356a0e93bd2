import type { Eviction } from '../../src/core/commit/plan.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import type { Placer } from '../decide/placer.ts';
import type { DecidedPlan } from '../state/decided-plan.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { OwnVictims } from './own-victims.ts';
import type { VictimReader } from './victim-reader.ts';

/** Newcomers, assumed in memory, and their victims. */
export interface PreemptionPlan extends DecidedPlan {
  readonly evictions: readonly Eviction[];
  /** Hosts with victims: no other preemption begins there until the plan has ended. */
  readonly hosts: readonly string[];
}

/** What a search for victims works with. */
export interface SearchParts {
  readonly placer: Placer;
  readonly victims: VictimReader;
  /** Absent: every host is asked. */
  readonly own?: Pick<OwnVictims, 'on'>;
  /** Hosts with a preemption of this scheduler under way; a search adds its own. */
  readonly busyHosts: Set<string>;
  readonly isPaused: () => boolean;
  readonly fillsOf: (job: OwnedJob) => readonly Fill[];
}
