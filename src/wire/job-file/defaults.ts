import type { JobType, ReschedulePolicy, RestartPolicy, StopPolicy } from '../../core/cell/job.ts';
import type { Resources } from '../../core/cell/resources.ts';
import { NO_SCALARS } from '../../core/cell/resources.ts';

/** Values of absent fields. The policies differ by type: a service runs on, a batch job ends. */

export const DEFAULT_TYPE: JobType = 'service';
/** Of a one-off run: it ends. */
export const RUN_TYPE: JobType = 'batch';
export const DEFAULT_PRECEDENCE = 50;
export const DEFAULT_WEIGHT = 50;

export const DEFAULT_RESOURCES: Resources = {
  cpuMilli: 100,
  memoryMib: 128,
  diskMib: 0,
  scalars: NO_SCALARS,
};
export const DEFAULT_STOP: StopPolicy = { signal: 'SIGTERM', graceMs: 10_000 };

export const DEFAULT_CHECK = {
  intervalMs: 10_000,
  timeoutMs: 2_000,
  successThreshold: 1,
  failureThreshold: 3,
  startPeriodMs: 0,
} as const;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const STAYING_RESTART: RestartPolicy = {
  attempts: 3,
  windowMs: 10 * MINUTE_MS,
  delayMs: 5 * SECOND_MS,
  on: 'always',
};
const STAYING_RESCHEDULE: ReschedulePolicy = {
  attempts: null,
  delayMs: 15 * SECOND_MS,
  delayMaxMs: 10 * MINUTE_MS,
  onHostLost: false,
};

export const DEFAULT_RESTART: Readonly<Record<JobType, RestartPolicy>> = {
  service: STAYING_RESTART,
  system: STAYING_RESTART,
  batch: { attempts: 2, windowMs: 60 * MINUTE_MS, delayMs: 10 * SECOND_MS, on: 'failure' },
};

export const DEFAULT_RESCHEDULE: Readonly<Record<JobType, ReschedulePolicy>> = {
  service: STAYING_RESCHEDULE,
  system: STAYING_RESCHEDULE,
  batch: { attempts: 3, delayMs: 30 * SECOND_MS, delayMaxMs: 5 * MINUTE_MS, onHostLost: false },
};
