import { BINPACK } from '../../src/core/scoring/policy.ts';
import type { SchedulerPolicy } from './policies.ts';

/** Many short tasks: pack them, in slices as large as a few transactions. */
export const batchPolicy: SchedulerPolicy = { kind: 'batch', placement: BINPACK, sliceMax: 512 };
