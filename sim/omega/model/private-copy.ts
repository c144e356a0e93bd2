import type { FreeCapacity } from './free-capacity.ts';
import type { SharedCell } from './shared-cell.ts';

/** A scheduler's full copy of the cell, as it was when an attempt began. */
export class PrivateCopy implements FreeCapacity {
  readonly cpuMilli: Int32Array;
  readonly memoryMib: Int32Array;
  readonly gpuUsed: (readonly number[])[] | null;
  readonly revision: Int32Array;

  constructor(cell: SharedCell) {
    this.cpuMilli = cell.cpuMilli.slice();
    this.memoryMib = cell.memoryMib.slice();
    this.gpuUsed = cell.gpuUsed === null ? null : [...cell.gpuUsed];
    this.revision = cell.revision.slice();
  }

  sync(cell: SharedCell): void {
    this.cpuMilli.set(cell.cpuMilli);
    this.memoryMib.set(cell.memoryMib);
    this.revision.set(cell.revision);
    if (this.gpuUsed === null || cell.gpuUsed === null) return;
    for (let host = 0; host < cell.gpuUsed.length; host++)
      this.gpuUsed[host] = cell.gpuUsed[host] as readonly number[];
  }
}
