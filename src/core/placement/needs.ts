import type { Ask } from '../cell/ask.ts';
import {
  CPU,
  DISK,
  GPU_LARGEST,
  GPU_TOTAL,
  GPU_WHOLE,
  MEMORY,
  PORTS,
  ROW,
  TAKES,
} from '../cell-state/capacity-tree.ts';
import { opposedBy } from '../cell/interference.ts';
import { meets } from '../host/attributes.ts';
import { deviceFits } from '../fit/gpu-choice.ts';
import type { Host } from '../host/host.ts';
import type { HostSlot } from '../cell-state/host-slot.ts';
import { isEmpty } from '../cell-state/host-slot.ts';
import type { Selection } from '../cell-state/selection.ts';
import { GPU_MILLI_PER_DEVICE, scalarsFit } from '../cell/resources.ts';

/** Writes the least that a host's row must show for the ask: always necessary, sufficient when `exactByRow`. */
export function needOf(ask: Ask, need: Float64Array): void {
  const { resources, gpu } = ask;
  need.fill(0);
  need[CPU] = resources.cpuMilli;
  need[MEMORY] = resources.memoryMib;
  need[DISK] = resources.diskMib;
  if (gpu !== null && gpu.count > 0) {
    need[GPU_TOTAL] = gpu.count * gpu.milliEach;
    need[GPU_LARGEST] = gpu.milliEach;
    need[GPU_WHOLE] = gpu.milliEach === GPU_MILLI_PER_DEVICE ? gpu.count : 0;
  }
  let free = 0;
  for (const label in ask.ports) if (ask.ports[label] === 0) free += 1;
  need[PORTS] = free;
  need[TAKES] = 1;
}

/** Is a row that shows enough sufficient, but for neighbours? False: `fitsBeyondRow` must test devices, ports and scalars. */
export function exactByRow(ask: Ask, selection: Selection): boolean {
  return (
    (ask.gpu === null || ask.gpu.count === 0) &&
    isEmpty(ask.ports) &&
    hasNoAmounts(ask.resources.scalars) &&
    selection.hostConstraints.length === 0
  );
}

function hasNoAmounts(scalars: Readonly<Record<string, number>>): boolean {
  for (const name in scalars) if (opposedBy(name) === null) return false;
  return true;
}

export function rowFits(rows: Float64Array, offset: number, need: Float64Array): boolean {
  for (let i = 0; i < ROW; i++) if (rows[offset + i]! < need[i]!) return false;
  return true;
}

/** Tests what a row cannot show: single devices, fixed ports, scalars, constraints on the host's id. */
export function fitsBeyondRow(slot: HostSlot, host: Host, ask: Ask, selection: Selection): boolean {
  return (
    selection.hostConstraints.every((expression) => meets(host, expression)) &&
    devicesFit(slot, host, ask) &&
    scalarsFit(ask.resources.scalars, slot.scalars) &&
    portsFit(slot, host, ask)
  );
}

function devicesFit(slot: HostSlot, host: Host, { gpu }: Ask): boolean {
  if (gpu === null || gpu.count === 0) return true;
  let fitting = 0;
  for (let device = 0; device < host.gpuModels.length && fitting < gpu.count; device++) {
    if (deviceFits(host.gpuModels, slot.gpuUsed, gpu, device)) fitting += 1;
  }
  return fitting === gpu.count;
}

/** Are the fixed ports free and different, with enough others left for the labels that take any? */
export function portsFit(slot: HostSlot, { portRange }: Host, { ports }: Ask): boolean {
  const fixed = new Set<number>();
  let any = 0;
  for (const label in ports) {
    const port = ports[label] ?? 0;
    if (port === 0) any += 1;
    else if (port < portRange.first || port > portRange.last || slot.ports?.has(port) === true) return false;
    else if (fixed.has(port)) return false;
    else fixed.add(port);
  }
  if (any === 0) return true;
  let free = portRange.last - portRange.first + 1 - fixed.size;
  for (const port of slot.ports?.keys() ?? [])
    if (port >= portRange.first && port <= portRange.last) free -= 1;
  return free >= any;
}
