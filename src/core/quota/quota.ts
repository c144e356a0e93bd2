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

/** What operators can pause: new allocations, or stops of running ones that make room for others. */
export const PAUSABLE = ['placement', 'eviction'] as const;
export type Pausable = (typeof PAUSABLE)[number];

export interface Pause {
  readonly by: string;
  readonly reason: string;
  readonly sinceMs: number;
  /** A monitor ends it then. Absent: an operator does. */
  readonly untilMs?: number;
}

/** Operators' switches for the whole cell. */
export interface Switches {
  readonly pausePlacement: boolean;
  readonly pauseEviction: boolean;
  /** Of what is paused: who paused it, and why. Absent: nobody said. */
  readonly pauses?: Readonly<Partial<Record<Pausable, Pause>>>;
}

export function isPaused(switches: Switches, what: Pausable): boolean {
  return what === 'placement' ? switches.pausePlacement : switches.pauseEviction;
}

/** A sentence for people: `paused by ada: new disks`. */
export function pausedBy({ pauses }: Switches, what: Pausable): string {
  const pause = pauses?.[what];
  if (pause === undefined) return 'an operator has paused it';
  const until = pause.untilMs === undefined ? '' : `, until ${new Date(pause.untilMs).toISOString()}`;
  return `paused by ${pause.by} since ${new Date(pause.sinceMs).toISOString()}${until}: ${pause.reason}`;
}

export const SWITCHES_OFF: Switches = Object.freeze({ pausePlacement: false, pauseEviction: false });
