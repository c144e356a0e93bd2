import type { Task } from '../../src/core/cell/job.ts';
import type { KillMethod, ShimLaunch } from '../../src/wire/host-files/shim-launch.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { DeviceNode, LimitGroups, Limits } from '../limits/limits.ts';

const MIB = 1024 * 1024;

/**
 * Processes and threads of a task that names no number: far above what a sane one needs, and far enough below the 32,768
 * of a small machine that a fork bomb leaves room for its neighbours and for the agent that ends it.
 */
export const PIDS_DEFAULT = 4_096;

/** What the host holds a task to. Memory is held at what was asked for, CPU shared by it. */
export function limitsOf(task: Task, devices?: readonly DeviceNode[]): Limits {
  const { memoryMib, cpuMilli, pids, readMib, writeMib } = task.limits ?? {};
  return {
    memoryMaxMib: memoryMib ?? task.resources.memoryMib,
    memoryHighMib: null,
    cpuMilli: task.resources.cpuMilli,
    cpuMaxMilli: cpuMilli ?? null,
    pidsMax: pids ?? PIDS_DEFAULT,
    // Who runs as its agent's user has what that has.
    ...(devices === undefined || task.user === 'agent' ? {} : { devices }),
    ioReadBytes: readMib === undefined ? null : readMib * MIB,
    ioWriteBytes: writeMib === undefined ? null : writeMib * MIB,
  };
}

/** The launch of a task that is to lie in these groups. */
export function inGroups(launch: ShimLaunch, groups: LimitGroups): ShimLaunch {
  const kill: KillMethod[] = [...(launch.kill ?? [])];
  if (groups.killFile !== null) kill.push({ kind: 'cgroup', path: groups.killFile });
  if (groups.freezer !== null) kill.push({ kind: 'freezer', path: groups.freezer });
  return {
    ...launch,
    ...(groups.procs.length > 0 ? { cgroupProcs: groups.procs } : {}),
    ...(kill.length > 0 ? { kill } : {}),
    ...(groups.oomFile === null ? {} : { oomFiles: [groups.oomFile] }),
    ...(groups.freezeFile === null ? {} : { freezeFile: groups.freezeFile }),
  };
}

/**
 * The nodes of the GPUs that the task was given: of its group's tasks the one that asks for some.
 * @param all of each GPU of the host, in their order
 */
export function devicesOf(
  { task, allocation }: { readonly task: Task; readonly allocation: Pick<Allocation, 'gpus'> },
  all: readonly (readonly DeviceNode[])[],
): readonly DeviceNode[] {
  if (task.gpu === null) return [];
  const nodes = new Map<string, DeviceNode>();
  for (const { device } of allocation.gpus) for (const node of all[device] ?? []) nodes.set(node.path, node);
  return [...nodes.values()];
}
