import { LEVEL } from '../../src/core/scoring/policy.ts';
import type { SchedulerPolicy } from './policies.ts';

/** One on each matching host: the job says where, so there is nothing to score. */
export const systemPolicy: SchedulerPolicy = { kind: 'system', placement: LEVEL, sliceMax: 256 };
