import type { GpuShare, Resources } from './resources.ts';
import type { VolumeUse } from './volume.ts';

/** What a placement takes of one host: exact devices and ports, nothing left to choose. */
export interface Claim {
  /** The allocation's id, chosen before the commit so that an unknown outcome can be read back. */
  readonly id: string;
  readonly host: string;
  /** 0 to 100 as its job's, or `SURPLUS_PRECEDENCE`. */
  readonly precedence: number;
  readonly resources: Resources;
  readonly gpus: readonly GpuShare[];
  /** Port label to number. */
  readonly ports: Readonly<Record<string, number>>;
  /** What it takes of shared resources; absent: nothing. */
  readonly shared?: SharedUse;
  /** The volumes that its tasks mount; each of their claims is among `shared`. Absent: none. */
  readonly volumes?: readonly VolumeUse[];
}

/**
 * The precedence of what an elastic group has above its minimum: below every job's, so that whoever needs the room takes it
 * before anything else is preempted, and surplus itself preempts nothing.
 */
export const SURPLUS_PRECEDENCE = -1;

/** What a claim takes of each pool of a shared resource, by the pool's full name: `rack-uplink/r1`. */
export type SharedUse = Readonly<Record<string, number>>;
