/**
 * What allocations use, measured at each request and stored nowhere.
 *
 *   GET /v1/usage                     at a host → HostUsage
 *   GET /v1/usage?namespace&job       at a monitor → CellUsage, of the hosts that hold such allocations
 */
export interface HostUsage {
  readonly host: string;
  /** By the host's monotonic clock: the difference of two answers is the time between them. */
  readonly atMs: number;
  readonly allocations: readonly AllocationUsage[];
}

/** Sums over its tasks; null: the host cannot measure it, for want of control groups. */
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
  /** Hosts with such allocations that did not answer. */
  readonly unreachable: readonly string[];
}
