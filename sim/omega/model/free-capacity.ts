import { chooseGpus } from '../../../src/core/fit/gpu-choice.ts';
import type { GpuShare } from '../../../src/core/cell/resources.ts';
import { NO_RESOURCES } from '../../../src/core/cell/resources.ts';
import type { Host } from '../../../src/core/host/host.ts';
import type { HostKind, TaskShape } from '../workload/workload.ts';

/** What is free, by host number: in the shared cell, or in a scheduler's copy of it. */
export interface FreeCapacity {
  readonly cpuMilli: Int32Array;
  readonly memoryMib: Int32Array;
  /** Thousandths used of each device; null where no host has any. Lists are replaced, never changed. */
  readonly gpuUsed: (readonly number[])[] | null;
}

/** Does one more task fit, devices apart? */
export function hasCapacity(free: FreeCapacity, host: number, shape: TaskShape): boolean {
  return free.cpuMilli[host]! >= shape.cpuMilli && free.memoryMib[host]! >= shape.memoryMib;
}

/**
 * Might so many tasks fit at once? Constraints and devices are left aside: a no is sure, a yes is not. One pass along
 * the tables costs a tenth of drawing every host by chance to find that it is full.
 */
export function mightHold(free: FreeCapacity, { cpuMilli, memoryMib }: TaskShape, tasks: number): boolean {
  let found = 0;
  for (let host = 0; host < free.cpuMilli.length && found < tasks; host++) {
    const byCpu = cpuMilli === 0 ? tasks : Math.floor(free.cpuMilli[host]! / cpuMilli);
    const byMemory = memoryMib === 0 ? tasks : Math.floor(free.memoryMib[host]! / memoryMib);
    found += Math.max(0, Math.min(byCpu, byMemory));
  }
  return found >= tasks;
}

/** The devices that one more task would get; null: too little is free. */
export function devicesFor(
  free: FreeCapacity,
  host: number,
  models: readonly string[],
  shape: TaskShape,
): readonly GpuShare[] | null {
  if (shape.gpu === null) return NO_DEVICES;
  if (free.gpuUsed === null) return null;
  return chooseGpus(models, free.gpuUsed[host] ?? [], shape.gpu, 'fullest');
}

export const NO_DEVICES: readonly GpuShare[] = [];

/** Takes (`sign` 1) or gives back (−1). */
export function changeCapacity(
  free: FreeCapacity,
  host: number,
  shape: TaskShape,
  devices: readonly GpuShare[],
  sign: 1 | -1,
): void {
  free.cpuMilli[host]! -= sign * shape.cpuMilli;
  free.memoryMib[host]! -= sign * shape.memoryMib;
  if (devices.length === 0 || free.gpuUsed === null) return;
  const used = [...(free.gpuUsed[host] ?? [])];
  for (const { device, milli } of devices) used[device] = (used[device] ?? 0) + sign * milli;
  free.gpuUsed[host] = used;
}

/** The hosts of a cell as `src/core` knows them. A host's id is its number, so that no table is needed. */
export function hostsOf(kinds: readonly HostKind[]): Host[] {
  const hosts: Host[] = [];
  for (const { count, cpuMilli, memoryMib, gpuModels } of kinds) {
    const capacity = { ...NO_RESOURCES, cpuMilli, memoryMib };
    for (let i = 0; i < count; i++) {
      hosts.push({
        id: String(hosts.length),
        address: '',
        capacity,
        reserved: NO_RESOURCES,
        gpuModels,
        portRange: NO_PORTS,
        attributes: NO_ATTRIBUTES,
        bootId: '',
        incarnation: 1,
        agentVersion: '',
      });
    }
  }
  return hosts;
}

const NO_PORTS = { first: 1, last: 0 };
const NO_ATTRIBUTES = {};
