import type { Task } from '../../src/core/cell/job.ts';
import type { KillMethod, ShimLaunch } from '../../src/wire/host-files/shim-launch.ts';
import type { LimitGroups, Limits } from '../limits/limits.ts';

const MIB = 1024 * 1024;

/**
 * Processes and threads of a task that names no number: far above what a sane one needs, and far enough below the 32,768
 * of a small machine that a fork bomb leaves room for its neighbours and for the agent that ends it.
 */
export const PIDS_DEFAULT = 4_096;

/** What the host holds a task to. Memory is held at what was asked for, CPU shared by it. */
export function limitsOf(task: Task): Limits {
  const { memoryMib, cpuMilli, pids, readMib, writeMib } = task.limits ?? {};
  return {
    memoryMaxMib: memoryMib ?? task.resources.memoryMib,
    memoryHighMib: null,
    cpuMilli: task.resources.cpuMilli,
    cpuMaxMilli: cpuMilli ?? null,
    pidsMax: pids ?? PIDS_DEFAULT,
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
