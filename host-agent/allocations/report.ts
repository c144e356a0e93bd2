import type { AllocationReport, TaskReport } from '../../src/core/host/report.ts';
import type { ObservedState } from '../../src/core/host/states.ts';
import type {
  AllocationSpec,
  OutcomeRecord,
  StopReasonRecord,
} from '../../src/wire/host-files/host-files.ts';
import type { TaskRun } from '../tasks/tasks.ts';

/** All that a host knows of one allocation. */
export interface AllocationFacts {
  readonly spec: AllocationSpec;
  readonly state: ObservedState;
  readonly released: boolean;
  /** Why it is not, for people, though it has ended; null: nobody knows of a reason. */
  readonly unreleased: string | null;
  readonly stopReason: StopReasonRecord | null;
  readonly outcome: OutcomeRecord | null;
  readonly tasks: readonly TaskRun[];
}

/** What the host says of it. */
export function reportOf(facts: AllocationFacts): AllocationReport {
  const { outcome, stopReason } = facts;
  const { allocation } = facts.spec;
  const startedAtMs = outcome?.startedAtMs ?? startedAtMsOf(facts.tasks);
  const tasks: Record<string, TaskReport> = {};
  for (const run of facts.tasks) tasks[run.task.name] = run.report();
  return {
    id: allocation.id,
    host: allocation.host,
    precedence: allocation.precedence,
    resources: allocation.resources,
    gpus: allocation.gpus,
    ports: allocation.ports,
    ...(allocation.shared === undefined ? {} : { shared: allocation.shared }),
    namespace: allocation.namespace,
    job: allocation.job,
    jobVersion: allocation.jobVersion,
    group: allocation.group,
    index: allocation.index,
    attempt: allocation.attempt,
    scheduler: allocation.scheduler,
    state: facts.state,
    released: facts.released,
    reason: withUnreleased(outcome?.reason ?? stopReason?.cause ?? heldIn(facts.tasks), facts.unreleased),
    ...(outcome?.exit === undefined ? {} : { exit: outcome.exit }),
    ...(facts.spec.addresses === undefined ? {} : { addresses: facts.spec.addresses }),
    restarts: outcome?.restarts ?? restartsOf(facts.tasks),
    ...(startedAtMs === null ? {} : { startedAtMs }),
    ...(outcome === null ? {} : { endedAtMs: outcome.endedAtMs }),
    tasks,
  };
}

function withUnreleased(reason: string, why: string | null): string {
  return why === null ? reason : `${reason}; its place is not free yet: ${why}`;
}

/** Why a task that has ended is not started again yet, for people; empty: none waits for that. */
function heldIn(tasks: readonly TaskRun[]): string {
  const run = tasks.find(({ held }) => held !== null);
  return run === undefined ? '' : `task ${run.task.name} is not started again: ${run.held ?? ''}`;
}

/** Wall clock; null while none has begun to run. */
export function startedAtMsOf(tasks: readonly TaskRun[]): number | null {
  const times = tasks.map((run) => run.firstStartedAtMs).filter((atMs) => atMs !== null);
  return times.length === 0 ? null : Math.min(...times);
}

export function restartsOf(tasks: readonly TaskRun[]): number {
  return tasks.reduce((sum, run) => sum + run.restarts, 0);
}
