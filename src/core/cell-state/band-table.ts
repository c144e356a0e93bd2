import { AMOUNT_MAX, CPU, DISK, GPU_LARGEST, GPU_TOTAL, GPU_WHOLE, MEMORY } from './capacity-tree.ts';
import type { HostSlot } from './host-slot.ts';
import { widened } from './host-tables.ts';
import type { Resources } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/** So many precedences of a host are in its row; few cells use more. */
const BANDS_MAX = 4;
/** How many bands, what the host gives away of cpu and memory, its devices, then the bands: precedence, cpu, memory, disk. */
const COUNT = 0;
const WHOLE_CPU = 1;
const WHOLE_MEMORY = 2;
const DEVICES = 3;
const FIRST = 4;
const BAND = 4;
const ROW = FIRST + BANDS_MAX * BAND;
/** In the place of the count: the ledger itself has to be asked. */
const BEYOND = -1;

/**
 * What each precedence holds of each host, lowest first, in the order of the host indices: who compares the hosts of a
 * search for room reads a few lines of memory instead of a ledger with all its records for each.
 */
export class BandTable {
  #rows = new Int32Array(ROW);

  set(index: number, { host, ledger }: HostSlot): void {
    this.#rows = widened(this.#rows, (index + 1) * ROW);
    const rows = this.#rows;
    const row = index * ROW;
    const { bands } = ledger;
    rows[row + COUNT] = BEYOND;
    if (host === undefined || bands.length > BANDS_MAX) return;
    rows[row + WHOLE_CPU] = host.capacity.cpuMilli - host.reserved.cpuMilli;
    rows[row + WHOLE_MEMORY] = host.capacity.memoryMib - host.reserved.memoryMib;
    rows[row + DEVICES] = host.gpuModels.length;
    for (const [n, { precedence, cpuMilli, memoryMib, diskMib }] of bands.entries()) {
      if (cpuMilli > AMOUNT_MAX || memoryMib > AMOUNT_MAX || diskMib > AMOUNT_MAX) return;
      rows.set([precedence, cpuMilli, memoryMib, diskMib], row + FIRST + n * BAND);
    }
    rows[row + COUNT] = bands.length;
  }

  /** Does the table hold all that the host's ledger says of cpu, memory and disk? */
  covers(index: number): boolean {
    return (this.#rows[index * ROW + COUNT] ?? BEYOND) !== BEYOND;
  }

  /** Adds to what is free, as `giveBack` does, all that is held below the precedence. @returns false when nothing is */
  addBelow(index: number, precedence: number, free: Float64Array): boolean {
    const rows = this.#rows;
    const row = index * ROW;
    const first = row + FIRST;
    const end = first + rows[row + COUNT]! * BAND;
    let band = first;
    for (; band < end && rows[band]! < precedence; band += BAND)
      giveBack(free, rows[band + 1]!, rows[band + 2]!, rows[band + 3]!, rows[row + DEVICES]!);
    return band > first;
  }

  /**
   * What it costs to make room on a host that the table covers (`evictionCost`).
   * @param free what is free, a row a host
   * @returns null when all below the precedence is not enough
   */
  cost(
    index: number,
    asked: Resources,
    precedence: number,
    free: ArrayLike<number>,
    at: number,
  ): number | null {
    const rows = this.#rows;
    const row = index * ROW;
    let cpu = asked.cpuMilli - free[at + CPU]!;
    let memory = asked.memoryMib - free[at + MEMORY]!;
    let disk = asked.diskMib - free[at + DISK]!;
    const short = shareShort(cpu, rows[row + WHOLE_CPU]!, memory, rows[row + WHOLE_MEMORY]!);
    const end = row + FIRST + rows[row + COUNT]! * BAND;
    for (let band = row + FIRST; band < end; band += BAND) {
      const highest = rows[band]!;
      if (highest >= precedence) return null;
      cpu -= rows[band + 1]!;
      memory -= rows[band + 2]!;
      disk -= rows[band + 3]!;
      if (cpu <= 0 && memory <= 0 && disk <= 0) return evictionCost(highest, short);
    }
    return null;
  }
}

/** A row of free amounts after what one precedence holds of the host. Whose devices they are is not known: it frees all. */
export function giveBack(
  free: Float64Array,
  cpuMilli: number,
  memoryMib: number,
  diskMib: number,
  devices: number,
): void {
  free[CPU]! += cpuMilli;
  free[MEMORY]! += memoryMib;
  free[DISK]! += diskMib;
  if (devices === 0) return;
  free[GPU_TOTAL] = devices * GPU_MILLI_PER_DEVICE;
  free[GPU_LARGEST] = GPU_MILLI_PER_DEVICE;
  free[GPU_WHOLE] = devices;
}

/**
 * Of two costs, the one with the lower highest precedence is less; the fraction is the part of the host to be freed.
 * @param short as `shareShort` says
 */
export function evictionCost(highest: number, short: number): number {
  return highest + Math.min(0.999, short);
}

/** How much of the whole is missing, over cpu and memory, 0 to 1. */
export function shareShort(
  cpuMissing: number,
  cpuWhole: number,
  memoryMissing: number,
  memoryWhole: number,
): number {
  return (part(cpuMissing, cpuWhole) + part(memoryMissing, memoryWhole)) / 2;
}

function part(missing: number, whole: number): number {
  return whole <= 0 ? 0 : Math.max(0, missing) / whole;
}
