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
import type { CellAt } from '../replay/replay.ts';
import type { ProcessStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I1 on the ground: at every moment, what really runs on a host fits into it and into each of its devices. The ledger counts
 * an allocation that gives way as gone, so only the host keeps its newcomer from starting beside it. And I2: a task that asks for
 * devices is told of those that its allocation holds, and no other task is told of any.
 */
export function checkHostUsage(run: RunIndex, cell: CellAt, findings: Findings): void {
  const changes: { readonly at: Stamp; readonly process: ProcessStory; readonly by: 1 | -1 }[] = [];
  for (const process of run.processes) {
    changes.push({ at: process.started, process, by: 1 });
    if (process.ended !== null) changes.push({ at: process.ended, process, by: -1 });
  }
  changes.sort((a, b) => a.at.seq - b.at.seq);
  const hosts = new Map<string, Room>();
  for (const { at, process, by } of changes) {
    const allocation = run.allocations.get(process.allocation)?.allocation;
    const host = cell.hosts.get(process.host);
    if (allocation === undefined || host === undefined) continue;
    if (by === 1) checkTold(process, allocation, run, findings);
    let room = hosts.get(host.id);
    if (room === undefined) {
      room = { whole: allocatable(host), used: NO_RESOURCES, gpuMilli: [], living: new Map() };
      hosts.set(host.id, room);
    }
    const living = (room.living.get(process.allocation) ?? 0) + by;
    room.living.set(process.allocation, living);
    if (by === -1 && living === 0) leave(room, allocation);
    if (by === -1 || living > 1) continue;
    const short = enter(room, allocation);
    if (short === null) continue;
    const others = [...room.living].filter(([id, count]) => count > 0 && id !== process.allocation);
    findings.prove(
      'I1',
      process.allocation,
      `runs on ${host.id} beside ${others.map(([id]) => id).join(' ')}, and there is less ${short}`,
      [at],
    );
  }
}

interface Room {
  readonly whole: Resources;
  used: Resources;
  /** Thousandths in use, by device. */
  readonly gpuMilli: number[];
  /** Processes of each allocation. */
  readonly living: Map<string, number>;
}

/** @returns what there is too little of */
function enter(room: Room, { resources, gpus }: Allocation): string | null {
  room.used = addResources(room.used, resources);
  shift(room.gpuMilli, gpus, 1);
  const device = gpus.find((share) => (room.gpuMilli[share.device] ?? 0) > GPU_MILLI_PER_DEVICE);
  if (device !== undefined) return `gpu ${String(device.device)}`;
  return shortOf(room.used, room.whole)?.dimension ?? null;
}

function leave(room: Room, { resources, gpus }: Allocation): void {
  room.used = subtractResources(room.used, resources);
  shift(room.gpuMilli, gpus, -1);
}

function shift(gpuMilli: number[], gpus: readonly GpuShare[], sign: 1 | -1): void {
  for (const { device, milli } of gpus) gpuMilli[device] = (gpuMilli[device] ?? 0) + sign * milli;
}

function checkTold(process: ProcessStory, allocation: Allocation, run: RunIndex, findings: Findings): void {
  const task = run.jobOf(allocation)?.groups[allocation.group]?.tasks[process.task];
  if (task === undefined) return;
  const told = process.gpus.join(' ');
  const has = task.gpu === null ? '' : allocation.gpus.map(({ device }) => device).join(' ');
  if (told !== has)
    findings.prove('I2', allocation.id, `is told of the devices (${told}), and holds (${has})`, [
      process.started,
    ]);
}
