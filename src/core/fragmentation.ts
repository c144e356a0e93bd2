import type { GpuRequest } from './resources.ts';

/** One kind of task that is expected to come, and how common it is. */
export interface MixEntry {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpu: GpuRequest | null;
  /** Share of all tasks; the shares of a mix add up to 1. */
  readonly share: number;
}

export type TaskMix = readonly MixEntry[];
