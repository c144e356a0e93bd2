import { AMOUNT_MAX, CPU, DISK, GPU_LARGEST, GPU_TOTAL, GPU_WHOLE, MEMORY } from './capacity-tree.ts';
import type { HostSlot } from './host-slot.ts';
import { widened } from './host-tables.ts';
import type { Resources } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/** Precedences in a host's row; few cells use more. */
const BANDS_MAX = 4;
/** A row: number of bands, allocatable cpu and memory, number of devices, then the bands. */
const COUNT = 0;
const WHOLE_CPU = 1;
const WHOLE_MEMORY = 2;
const DEVICES = 3;
const FIRST = 4;
/** A band: precedence, cpu, memory, disk. */
const BAND = 4;
const ROW = FIRST + BANDS_MAX * BAND;
/** Instead of the count: the row cannot hold what the ledger says. */
const BEYOND = -1;

/**
 * What each precedence holds of each host, lowest first, in the order of the host indices: a search for preemption reads
 * a few cache lines a host instead of its ledger.
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

  /** Does the row hold all that the ledger says of cpu, memory and disk? */
  covers(index: number): boolean {
    return (this.#rows[index * ROW + COUNT] ?? BEYOND) !== BEYOND;
  }

  /** Adds all that is held below the precedence to `free`. @returns false when nothing is held there */
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
   * The cost (`preemptionCost`) of a preemption on a host that the table covers.
   * @param free rows of free amounts, the host's at `at`
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
      if (cpu <= 0 && memory <= 0 && disk <= 0) return preemptionCost(highest, short);
    }
    return null;
  }
}

/** Adds what one precedence holds to a row of free amounts. Ledgers do not say who holds a device: all count as free. */
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
 * What a preemption costs: the highest precedence among the victims, and as its fraction the part of the host to free.
 * @param short from `shareShort`
 */
export function preemptionCost(highest: number, short: number): number {
  return highest + Math.min(0.999, short);
}

/** The missing part of the host, mean of cpu and memory, 0 to 1. */
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
