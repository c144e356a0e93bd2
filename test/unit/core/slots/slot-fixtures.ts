import type { Allocation, Outcome } from '../../../../src/core/cell/allocation.ts';
import type { Group, Job } from '../../../../src/core/cell/job.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { JobView, LiveAllocation } from '../../../../src/core/slots/job-view.ts';
import { makeGroup } from '../placement/placement-fixtures.ts';

export function makeJob(type: Job['type'], group: Partial<Group>): Job {
  return {
    ...{
      namespace: 'default',
      name: 'foo',
      type,
      precedence: 50,
      scheduler: 'auto',
      labels: {},
      oneOff: false,
    },
    groups: { foo: makeGroup({ name: 'foo', ...group }) },
  };
}

export function allocation(id: string, part: Partial<Allocation> = {}): Allocation {
  return {
    ...{ id, host: 'h1', precedence: 50, resources: NO_RESOURCES, gpus: [], ports: {}, namespace: 'default' },
    ...{ job: 'foo', jobVersion: 1, group: 'foo', index: 0, attempt: 1, scheduler: 's', desired: 'run' },
    ...{ planId: 'p', epoch: { incarnation: 'i', counter: 0 }, createdAtMs: 0 },
    ...part,
  };
}

export function report(of: Allocation, part: Partial<AllocationReport> = {}): AllocationReport {
  const { id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index, attempt } =
    of;
  return {
    ...{ id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index, attempt },
    ...{ scheduler: 's', state: 'running', released: false, reason: 'running', restarts: 0, tasks: {} },
    ...part,
  };
}

export function outcome(part: Partial<Outcome> = {}): Outcome {
  return {
    ...{
      allocation: 'old',
      namespace: 'default',
      job: 'foo',
      jobVersion: 1,
      group: 'foo',
      index: 0,
      attempt: 1,
    },
    ...{ host: 'h1', scheduler: 's', state: 'failed', reason: 'exit 1', endedAtMs: 1_000, restarts: 0 },
    ...part,
  };
}

export function view(job: Job, part: Partial<JobView> = {}): JobView {
  return {
    record: { job, version: 1, desired: 'run', submittedAtMs: 0 },
    live: [],
    outcomes: [],
    versions: new Map([[1, job]]),
    rollout: null,
    hostCondition: () => ({ state: 'ready', drainDeadlineMs: null }),
    hostOf: () => undefined,
    upForMs: () => Infinity,
    matching: () => [],
    nowMs: 10_000,
    ...part,
  };
}

export const running = (of: Allocation): LiveAllocation => ({ allocation: of, report: report(of) });
export const RESTART = { attempts: 9, windowMs: 1_000, delayMs: 0, on: 'always' } as const;
export const BACKOFF = { attempts: null, delayMs: 1_000, delayMaxMs: 8_000, onHostLost: false };
