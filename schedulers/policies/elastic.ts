import { BINPACK } from '../../src/core/scoring/policy.ts';
import type { SchedulerPolicy } from './policies.ts';

/** As batch: what it gives out beyond the minimum of a job is packed too, so that large newcomers find whole hosts. */
export const elasticPolicy: SchedulerPolicy = { kind: 'elastic', placement: BINPACK, sliceMax: 512 };
