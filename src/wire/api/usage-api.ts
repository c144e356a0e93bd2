/**
 * What allocations use, beside what they asked for. Read when somebody asks, and kept nowhere.
 *
 *   GET /v1/usage                     at a host → HostUsage
 *   GET /v1/usage?namespace&job       at a monitor → CellUsage, of the hosts that hold such allocations
 */
export interface HostUsage {
  readonly host: string;
  /** By a clock of the host that is never set: the difference of two answers is the time between them. */
  readonly atMs: number;
  readonly allocations: readonly AllocationUsage[];
}

/** Of all its tasks together. A fact that the host cannot tell, for want of control groups, is null. */
export interface AllocationUsage {
  readonly id: string;
  /** CPU time of its present attempts since they began. */
  readonly cpuMs: number | null;
  readonly memoryBytes: number | null;
  /** Processes and threads. */
  readonly pids: number | null;
}

export interface CellUsage {
  readonly hosts: readonly HostUsage[];
  /** Hosts that hold what was asked for and did not answer. */
  readonly unreachable: readonly string[];
}
