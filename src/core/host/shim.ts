/** What agents and shims exchange, whatever the encoding (`src/wire`). */

export interface ShimUser {
  readonly uid: number;
  readonly gid: number;
  /** Supplementary groups; default none. */
  readonly groups?: readonly number[];
}

/** User ids, and group ids alike. */
export interface IdRange {
  readonly first: number;
  readonly count: number;
}

/** A command to run in the context of a running task. Absent fields: as the task has them. */
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

/** What a shim reports of itself. */
export interface ShimState {
  /** Protocol version of both sides. 1: signals and kill only, no stdin, no terminal. */
  readonly version: number;
  /** Of the shim; 0 in version 1. */
  readonly pid: number;
  /** The task's main process. */
  readonly job: number;
  readonly jobStart: number;
  /** The main process has ended; the shim reads its last output. */
  readonly done: boolean;
  readonly stdinOpen: boolean;
  readonly pty: boolean;
  readonly frozen: boolean;
  /** The shim is ending the task: a deadline or a kill. */
  readonly stopping: boolean;
  /** The offset of stdin that the shim expects next. */
  readonly stdinNext: number;
  /** Of the last signal sent; 0: none. */
  readonly signalSequence: number;
  /** Until the shim stops the task; null: no deadline. */
  readonly runLeftMs: number | null;
  readonly disconnectLeftMs: number | null;
  /** Offsets after the last byte of output. */
  readonly out: number;
  readonly err: number;
  readonly rows: number;
  readonly columns: number;
}
