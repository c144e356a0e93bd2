import { randomUUID } from 'node:crypto';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { RestartPolicy, Task } from '../../src/core/cell/job.ts';
import type { Launch, StartRequest, StopRequest } from '../../src/wire/api/host-api.ts';

export const CELL_INCARNATION = '6e0e2a3e-8a30-4d2c-9c6a-0d8f7a0a4c11';

/** Tasks are found and killed by the names of their attempts: those of test files that run side by side must differ. */
const run = randomUUID().slice(0, 8);
let made = 0;
/** Unlike every other one on this machine; later ones sort later. */
export function newId(): string {
  made += 1;
  return `a${run}${made.toString(36).padStart(5, '0')}`;
}

export function someTask(changes: Partial<Task> = {}): Task {
  return {
    name: 'main',
    command: ['true'],
    env: {},
    resources: { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: {} },
    gpu: null,
    stop: { signal: 'SIGTERM', graceMs: 5_000 },
    sidecar: false,
    ...changes,
  };
}

export const NO_RESTART: RestartPolicy = { attempts: 0, windowMs: 60_000, delayMs: 0, on: 'never' };

export interface OrderChanges {
  readonly allocation?: Partial<Allocation>;
  readonly tasks?: readonly Task[];
  readonly restart?: RestartPolicy;
  readonly deadlineMs?: number | null;
  readonly stopAfterDisconnectMs?: number;
  readonly shutdownDelayMs?: number;
  readonly ticket?: string | null;
  readonly commandId?: string;
}

/** An order to start one task that nothing is wrong with, on host `host-a`. */
export function someStart(changes: OrderChanges = {}): StartRequest {
  const tasks = changes.tasks ?? [someTask()];
  const launch: Launch = {
    tasks: Object.fromEntries(tasks.map((task) => [task.name, task])),
    restart: changes.restart ?? NO_RESTART,
    deadlineMs: changes.deadlineMs ?? null,
    ...(changes.stopAfterDisconnectMs === undefined
      ? {}
      : { stopAfterDisconnectMs: changes.stopAfterDisconnectMs }),
    ...(changes.shutdownDelayMs === undefined ? {} : { shutdownDelayMs: changes.shutdownDelayMs }),
  };
  const allocation: Allocation = {
    id: newId(),
    host: 'host-a',
    precedence: 50,
    resources: { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: {} },
    gpus: [],
    ports: {},
    namespace: 'default',
    job: 'web',
    jobVersion: 1,
    group: 'web',
    index: 0,
    attempt: 1,
    scheduler: 'service-1',
    desired: 'run',
    planId: 'plan-1',
    epoch: { incarnation: CELL_INCARNATION, counter: 0 },
    createdAtMs: 1_700_000_000_000,
    ...changes.allocation,
  };
  return {
    commandId: changes.commandId ?? `start-${allocation.id}`,
    allocation,
    launch,
    ticket: changes.ticket ?? null,
  };
}

export function someStop(changes: Partial<StopRequest> = {}): StopRequest {
  return {
    commandId: `stop-${String(made)}`,
    epoch: { incarnation: CELL_INCARNATION, counter: 0 },
    mode: 'stop',
    cause: 'stopped by user',
    ...changes,
  };
}
