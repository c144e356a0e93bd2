/** What a namespace may use at most, over all schedulers; a dimension of null has no limit. */
export interface Quota {
  readonly namespace: string;
  readonly cpuMilli: number | null;
  readonly memoryMib: number | null;
  readonly gpuMilli: number | null;
  readonly allocations: number | null;
}

/** Operators' switches over the whole cell. */
export interface Switches {
  readonly pausePlacement: boolean;
  readonly pauseEviction: boolean;
}

export const SWITCHES_OFF: Switches = Object.freeze({ pausePlacement: false, pauseEviction: false });
