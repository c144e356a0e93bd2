/** Asks a service on this machine whether it answers, for health checks. An answer is a value, and so is none. @throws ProbeError */
export interface Probes {
  /** Asks for the path and reads no further than the status. */
  http(target: ProbeTarget, path: string, timeoutMs: number): Promise<ProbeAnswer>;
  /** Opens a connection and closes it. */
  tcp(target: ProbeTarget, timeoutMs: number): Promise<ProbeAnswer>;
}

export interface ProbeTarget {
  readonly address: string;
  readonly port: number;
}

export interface ProbeAnswer {
  readonly passed: boolean;
  /** `HTTP 503`, `connection refused`: for people. */
  readonly detail: string;
}

/** The machine lets nobody ask: it says nothing of the service. */
export class ProbeError extends Error {
  override readonly name = 'ProbeError';
}
