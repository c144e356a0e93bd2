import type { Atomicity, Eviction, Release } from '../../src/core/commit/plan.ts';
import type { Entry } from './owned-job.ts';

/** What one decision wants to commit for one job. Its entries are assumed in the private cell. */
export interface DecidedPlan {
  readonly id: string;
  readonly entries: readonly Entry[];
  /** For `all-or-nothing` the entries stand or fall together. */
  readonly atomicity: Atomicity;
  /** Victims that the same commit marks. */
  readonly evictions?: readonly Eviction[];
  /** Claims that the same commit returns. */
  readonly releases?: readonly Release[];
  /** Of its decision, where that is traced. */
  readonly traceparent?: string;
}
