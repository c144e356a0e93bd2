import { BINPACK } from '../../src/core/placement.ts';
import type { SchedulerPolicy } from '../policy.ts';

/** Many short tasks: pack them, in slices as large as a few transactions. */
export const batchPolicy: SchedulerPolicy = { kind: 'batch', placement: BINPACK, sliceMax: 512 };
