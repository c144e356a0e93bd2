import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Task } from '../../src/core/cell/job.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';

const EPOCH = { incarnation: 'bench', counter: 0 };

/** An order to start one small task. */
export function startOf(
  id: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin = false,
): StartRequest {
  const resources = { cpuMilli: 1, memoryMib: 1, diskMib: 0, scalars: {} };
  const task: Task = {
    ...{ name: 'main', command, env, resources, gpu: null, sidecar: false },
    stop: { signal: 'SIGTERM', graceMs: 2_000 },
    limits: { memoryMib: 256 },
    ...(stdin ? { stdin: true } : {}),
  };
  const allocation: Allocation = {
    ...{ id, host: 'host-a', precedence: 50, resources, gpus: [], ports: {} },
    ...{ namespace: 'default', job: 'bench', jobVersion: 1, group: 'bench', index: 0, attempt: 1 },
    ...{ scheduler: 'bench', desired: 'run', planId: 'bench', epoch: EPOCH, createdAtMs: 0 },
  };
  const restart = { attempts: 0, windowMs: 60_000, delayMs: 0, on: 'never' as const };
  return {
    commandId: `start-${id}`,
    allocation,
    launch: { tasks: { main: task }, restart, deadlineMs: null },
    ticket: null,
  };
}
