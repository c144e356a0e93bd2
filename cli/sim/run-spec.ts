import type { Atomicity, ConflictCheck } from '../../src/core/commit/plan.ts';
import type { PointSpec } from '../../sim/omega/point/spec.ts';
import { OMEGA_RETRY, PATIENT_RETRY } from '../../sim/omega/model/spec.ts';
import type { Workload } from './workload/workload.ts';

export type RunDesign = 'monolithic' | 'multi-path' | 'two-level' | 'shared-state';

/** What may be chosen about a run, beside its workload. */
export interface RunFlags {
  readonly schedulers: number;
  readonly serviceSchedulers: number;
  readonly conflictCheck: ConflictCheck;
  readonly commit: Atomicity;
  readonly tJob: number;
  readonly tTask: number;
  readonly serviceTJob?: number;
  readonly serviceTTask?: number;
  readonly sample: number;
  readonly endsMove: boolean;
  readonly retry: 'omega' | 'patient' | 'auto';
  readonly scale: number;
  readonly seed: number;
  readonly hours?: number;
}

const HOUR_SECONDS = 3600;

/**
 * The run of a workload under a design. `monolithic` has one path for all jobs, as slow as the slower of the two decision
 * times; `multi-path` is the same scheduler with a decision time for each class.
 */
export function specOf(workload: Workload, design: RunDesign, flags: RunFlags): PointSpec {
  const batch = { jobSeconds: flags.tJob, taskSeconds: flags.tTask };
  const service = {
    jobSeconds: flags.serviceTJob ?? flags.tJob,
    taskSeconds: flags.serviceTTask ?? flags.tTask,
  };
  const slower = {
    jobSeconds: Math.max(batch.jobSeconds, service.jobSeconds),
    taskSeconds: Math.max(batch.taskSeconds, service.taskSeconds),
  };
  const single = design === 'monolithic';
  const patient = flags.retry === 'patient' || (flags.retry === 'auto' && workload.trace !== null);
  return {
    cell: workload.cell,
    load: workload.load,
    arrivalScale: { batch: flags.scale, service: flags.scale },
    design: single || design === 'multi-path' ? 'monolithic' : design,
    schedulers: { batch: flags.schedulers, service: flags.serviceSchedulers },
    decision: single ? { batch: slower, service: slower } : { batch, service },
    conflictCheck: flags.conflictCheck,
    atomicity: flags.commit,
    endsMove: flags.endsMove,
    placement: { sample: flags.sample },
    elastic: null,
    retry: patient ? PATIENT_RETRY : OMEGA_RETRY,
    horizonSeconds: flags.hours === undefined ? workload.horizonSeconds : flags.hours * HOUR_SECONDS,
    seed: flags.seed,
  };
}
