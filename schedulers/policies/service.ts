import { SERVICE } from '../../src/core/scoring/policy.ts';
import type { SchedulerPolicy } from './policies.ts';

/** Few long-lived allocations: keep the copies of a group apart, and decide again soon. */
export const servicePolicy: SchedulerPolicy = { kind: 'service', placement: SERVICE, sliceMax: 64 };
