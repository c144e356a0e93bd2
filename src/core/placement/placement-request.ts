import type { GroupAsk } from '../cell/ask.ts';
import type { KnownHost } from '../cell-state/host-slot.ts';
import type { GpuShare } from '../cell/resources.ts';

/** Places wanted for `count` allocations of one group. */
export interface PlacementRequest extends GroupAsk {
  readonly namespace: string;
  readonly job: string;
  readonly precedence: number;
  readonly count: number;
  /** Hosts of the group's other live allocations, one entry each: what `distinct` and `spread` count. */
  readonly hostsHeld: readonly KnownHost[];
  /** Hosts to use only when no other fits: the group failed there before. */
  readonly avoidHosts: readonly string[];
  /** Hosts to use only when no avoided host fits: they have just refused to start it. */
  readonly refusingHosts: readonly string[];
}

/** One place: a host, its devices and its ports. Not yet a claim: it has no id. */
export interface Placement {
  readonly host: string;
  /** The same host, for the state that chose it: saves a lookup. */
  readonly known?: KnownHost;
  readonly gpus: readonly GpuShare[];
  readonly ports: Readonly<Record<string, number>>;
}

export interface PlacementResult {
  /** At most `count`; each sees the ones before it. */
  readonly chosen: readonly Placement[];
  /** How many of `count` found no place. */
  readonly unplaced: number;
}
