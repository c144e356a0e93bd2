/** What agents and shims agree on, as far as it does not matter how they say it. */

export interface ShimUser {
  readonly uid: number;
  readonly gid: number;
  /** Supplementary groups; default none. */
  readonly groups?: readonly number[];
}

/** A command in the context of a task that runs. What is absent is as the task has it. */
export interface ExecOrder {
  readonly command: readonly string[];
  /** Added to the task's. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: ShimUser;
  readonly pty?: { readonly rows: number; readonly columns: number };
  readonly stdin?: 'open' | 'closed';
  readonly runMaxMs?: number;
  readonly stopAfterDisconnectMs?: number;
  readonly stop?: { readonly signal: string; readonly graceMs: number };
}

/** A shim's sight of itself. */
export interface ShimState {
  /** Of the protocol that both sides speak. 1: no stdin, no terminal, nothing but signals and kill. */
  readonly version: number;
  /** Of the shim; 0 when it is of version 1. */
  readonly pid: number;
  /** The task's main process. */
  readonly job: number;
  readonly jobStart: number;
  /** The main process has ended; the last output is being read. */
  readonly done: boolean;
  readonly stdinOpen: boolean;
  readonly pty: boolean;
  readonly frozen: boolean;
  /** A deadline or a kill is ending it. */
  readonly stopping: boolean;
  /** The offset from which the shim takes stdin. */
  readonly stdinNext: number;
  /** Of the last signal sent; 0: none yet. */
  readonly signalSequence: number;
  /** Until the shim stops the task; null: no such deadline. */
  readonly runLeftMs: number | null;
  readonly disconnectLeftMs: number | null;
  /** Offsets after the last byte of output. */
  readonly out: number;
  readonly err: number;
  readonly rows: number;
  readonly columns: number;
}
