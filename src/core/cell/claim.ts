import type { GpuShare, Resources } from './resources.ts';

/** What a plan wants of one host for one allocation: exact devices and ports, nothing left to choose. */
export interface Claim {
  /** The allocation's id, chosen before the commit so that an unknown outcome can be read back. */
  readonly id: string;
  readonly host: string;
  readonly precedence: number;
  readonly resources: Resources;
  readonly gpus: readonly GpuShare[];
  /** Port label to number. */
  readonly ports: Readonly<Record<string, number>>;
  /** What it takes of what hosts share; absent: nothing. */
  readonly shared?: SharedUse;
}

/** Of a claim: what it takes of each pool, by the pool's full name: `rack-uplink/r1`. */
export type SharedUse = Readonly<Record<string, number>>;
