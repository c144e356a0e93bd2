import { SERVICE } from '../../src/core/placement.ts';
import type { SchedulerPolicy } from '../policy.ts';

/** Few long-lived allocations: keep the copies of a group apart, and look again soon. */
export const servicePolicy: SchedulerPolicy = { kind: 'service', placement: SERVICE, sliceMax: 64 };
