import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { allocatable } from '../../../src/core/host/host.ts';
import type { GpuShare, Resources } from '../../../src/core/cell/resources.ts';
import {
  addResources,
  GPU_MILLI_PER_DEVICE,
  NO_RESOURCES,
  shortOf,
  subtractResources,
} from '../../../src/core/cell/resources.ts';
import type { Stamp } from '../../history/history.ts';
import { harmedBeside } from './neighbours.ts';
import type { CellAt } from '../replay/replay.ts';
import type { ProcessStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I1 as the host's kernel sees it: at every moment, the running processes fit into the host and into each of its devices. The ledger does
 * not count a preempted allocation, so only the host keeps its successor from starting beside it. I2: a task that asks for
 * devices finds those of its allocation in its environment, and no other task finds any. I74: none runs beside one that it avoids.
 */
export function checkHostUsage(run: RunIndex, cell: CellAt, findings: Findings): void {
  const changes: { readonly at: Stamp; readonly process: ProcessStory; readonly by: 1 | -1 }[] = [];
  for (const process of run.processes) {
    changes.push({ at: process.started, process, by: 1 });
    if (process.ended !== null) changes.push({ at: process.ended, process, by: -1 });
  }
  changes.sort((a, b) => a.at.seq - b.at.seq);
  const hosts = new Map<string, Usage>();
  for (const { at, process, by } of changes) {
    const allocation = run.allocations.get(process.allocation)?.allocation;
    const host = cell.hosts.get(process.host);
    if (allocation === undefined || host === undefined) continue;
    if (by === 1) checkDevices(process, allocation, run, findings);
    let usage = hosts.get(host.id);
    if (usage === undefined) {
      usage = { whole: allocatable(host), used: NO_RESOURCES, gpuMilli: [], living: new Map() };
      hosts.set(host.id, usage);
    }
    const living = (usage.living.get(process.allocation) ?? 0) + by;
    usage.living.set(process.allocation, living);
    if (by === -1 && living === 0) leave(usage, allocation);
    if (by === -1 || living > 1) continue;
    const others = [...usage.living].filter(([id, count]) => count > 0 && id !== process.allocation);
    const beside = others.map(([id]) => id);
    const harmed = harmedBeside(allocation, beside, run);
    if (harmed !== null)
      findings.prove('I74', process.allocation, `runs on ${host.id} beside ${harmed}: one avoids the other`, [
        at,
      ]);
    const short = enter(usage, allocation);
    if (short === null) continue;
    findings.prove(
      'I1',
      process.allocation,
      `runs on ${host.id} beside ${beside.join(' ')}, and there is less ${short}`,
      [at],
    );
  }
}

interface Usage {
  readonly whole: Resources;
  used: Resources;
  /** Thousandths in use, by device. */
  readonly gpuMilli: number[];
  /** Processes of each allocation. */
  readonly living: Map<string, number>;
}

/** @returns what there is too little of */
function enter(usage: Usage, { resources, gpus }: Allocation): string | null {
  usage.used = addResources(usage.used, resources);
  shift(usage.gpuMilli, gpus, 1);
  const device = gpus.find((share) => (usage.gpuMilli[share.device] ?? 0) > GPU_MILLI_PER_DEVICE);
  if (device !== undefined) return `gpu ${String(device.device)}`;
  return shortOf(usage.used, usage.whole)?.dimension ?? null;
}

function leave(usage: Usage, { resources, gpus }: Allocation): void {
  usage.used = subtractResources(usage.used, resources);
  shift(usage.gpuMilli, gpus, -1);
}

function shift(gpuMilli: number[], gpus: readonly GpuShare[], sign: 1 | -1): void {
  for (const { device, milli } of gpus) gpuMilli[device] = (gpuMilli[device] ?? 0) + sign * milli;
}

function checkDevices(
  process: ProcessStory,
  allocation: Allocation,
  run: RunIndex,
  findings: Findings,
): void {
  const task = run.groupOf(allocation)?.tasks[process.task];
  if (task === undefined) return;
  const given = process.gpus.join(' ');
  const has = task.gpu === null ? '' : allocation.gpus.map(({ device }) => device).join(' ');
  if (given !== has)
    findings.prove('I2', allocation.id, `is given the devices (${given}), and holds (${has})`, [
      process.started,
    ]);
}
