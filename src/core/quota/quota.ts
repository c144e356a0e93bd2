/**
 * What bounds use beyond a single host: the quota of a namespace, in this file, and beside it:
 *
 * - `amounts.ts`: what allocations count against a quota, and sums of it
 * - `shared-resource.ts`: what hosts share, and its pools
 * - `pool-book.ts`: the newest known state of the pools
 * - `grant.ts`: what an arbiter has granted of a quota, as it is stored
 * - `ticket.ts`: an arbiter's permission to start an allocation, and how a host checks it
 */

/** What a namespace may use at most, over all schedulers. null: no limit. */
export interface Quota {
  readonly namespace: string;
  readonly cpuMilli: number | null;
  readonly memoryMib: number | null;
  readonly gpuMilli: number | null;
  readonly allocations: number | null;
}

/** Operators' switches for the whole cell. */
export interface Switches {
  readonly pausePlacement: boolean;
  readonly pauseEviction: boolean;
}

export const SWITCHES_OFF: Switches = Object.freeze({ pausePlacement: false, pauseEviction: false });
