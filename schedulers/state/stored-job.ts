import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Intent } from '../../src/core/cell/intent.ts';
import type { Job } from '../../src/core/cell/job.ts';
import type { RolloutRecord } from '../../src/core/cell/rollout.ts';
import type { RecordError } from '../../src/wire/wire.ts';

export interface StoredJob {
  /** As they were before `allocations` was read: a member without its intent is effective. */
  readonly intents: readonly Intent[];
  /** The revision at which the intents were read; 0: there were none to read. */
  readonly intentsRevision: number;
  readonly allocations: readonly { readonly allocation: Allocation; readonly revision: number }[];
  readonly outcomes: readonly Outcome[];
  /** How far its last update was; null: nothing is recorded. */
  readonly rollout: RolloutRecord | null;
  readonly versions: ReadonlyMap<number, Job>;
  /** Why an allocation or an outcome is missing here that cannot be read; null: none is. */
  readonly unreadable: RecordError | null;
}

export const NOTHING_STORED: StoredJob = Object.freeze({
  intents: [],
  intentsRevision: 0,
  allocations: [],
  outcomes: [],
  rollout: null,
  versions: new Map(),
  unreadable: null,
});
