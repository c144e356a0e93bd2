import type { ExecOrder, ShimState } from '../core/host/shim.ts';

/**
 * Processes as the host-agent sees them. A task is never the agent's child: each attempt at one has a *shim*, a process of
 * its own, that is the task's parent, writes its output and its end into the attempt's folder, and outlives the agent.
 *
 * The folder of attempt A is `attempts/A` under the agent's state folder (see `wire/host-files/attempt-files.ts` for its files);
 * the files are the truth, and every call here is a request or a hint.
 */
export interface Processes {
  /** Of this boot of the machine: what another boot started no longer runs. */
  readonly bootId: string;
  /** The calling process. */
  readonly self: ProcessIdentity;

  /** Whether exactly this process runs. A process with the same number may be another one; a zombie has ended. */
  isAlive(identity: ProcessIdentity): Promise<boolean>;

  /**
   * Starts a shim for the attempt, whose folder and `launch` exist. May be called again: of several shims of one attempt one
   * gets the claim, and the rest end without any effect.
   * @throws ProcessError
   */
  startShim(attempt: string): Promise<void>;

  /**
   * Runs a command in the context of an attempt's task: its groups, its namespaces, its environment and user. A command id
   * runs once: a second call, also by another agent or with other content, runs nothing and gives the same name.
   * @param order absent fields are as in the task
   * @returns the command's name here and in the state folder, where it is an attempt of its own; null when the task does not
   *   run, so nothing was or will be started
   * @throws ProcessError
   */
  exec(attempt: string, commandId: string, order: ExecOrder): Promise<string | null>;

  /** Connects to the attempt's shim. @returns null without one: it has ended, or not yet begun */
  open(attempt: string): Promise<ShimLink | null>;

  /**
   * Sends the task's process group a signal, through the shim, which alone knows that the group is still the same.
   * @param sequence grows with each signal of an attempt; one that was sent already is not sent twice
   * @returns false without a shim: it has ended, or not yet begun
   */
  signal(attempt: string, signal: string, sequence: number): Promise<boolean>;

  /** Whether a shim answers for the attempt, for when its claim cannot be read. */
  answers(attempt: string): Promise<boolean>;

  /** Has the shim kill everything that the task started, again and again until it has ended. @returns as `signal` */
  killTree(attempt: string): Promise<boolean>;

  /**
   * For an attempt whose shim died: kills all processes in the groups of its launch, and all that carry the attempt's mark
   * in their environment.
   * @returns how many there were; 0 when none is left
   */
  killLeftovers(attempt: string): Promise<number>;

  /** All attempts with a process on this machine, of every host, by their marks. */
  marked(): Promise<readonly MarkedAttempt[]>;

  /** Kills all processes with the marks of this attempt. @returns how many there were; 0 when none is left */
  killMarked(stateId: string, attempt: string): Promise<number>;

  /** Those of the ports at which a process of this machine listens. */
  portsInUse(ports: readonly number[]): Promise<readonly number[]>;

  /**
   * Those of the IPv4 addresses on which a process of this machine listens or has a bound datagram socket. Sockets bound to
   * any address do not count, nor do outgoing connections.
   */
  addressesInUse(addresses: readonly string[]): Promise<readonly string[]>;

  /**
   * Reports attempts whose files changed (started, ended), and commands inside them under the name that `exec` gave. A hint:
   * may be late, doubled or missing.
   * @returns unsubscribes
   */
  onEvent(listener: (attempt: string) => void): () => void;

  /** Frees what this process holds. Shims and tasks run on. */
  close(): Promise<void>;
}

export interface MarkedAttempt {
  /** The id of its host's state folder. */
  readonly stateId: string;
  readonly attempt: string;
  /** Its folder was deleted: no agent can ever adopt it. */
  readonly deserted: boolean;
}

/** A process number is reused; with boot and start time it identifies one process. */
export interface ProcessIdentity {
  readonly boot: string;
  readonly pid: number;
  /** Clock ticks from boot to the process's start. */
  readonly start: number;
}

/**
 * A connection to one shim. Calls are answered in their order. When the shim ends or is silent during a call, the answer is
 * `null`: its next answer or its `exit` shows whether the call took effect.
 */
export interface ShimLink {
  state(): Promise<ShimState | null>;

  /**
   * Writes to the task's stdin. The shim accepts bytes at its `next`, ignores bytes before it, and refuses bytes beyond it;
   * with a full buffer it accepts fewer, or none. So bytes may be sent again, and none is written twice.
   * @param offset of the first byte, counted from the task's start
   */
  writeStdin(offset: number, bytes: Uint8Array): Promise<StdinAnswer | null>;

  /** The task's stdin ends at `offset`. In a terminal: its end-of-file character. */
  endStdin(offset: number): Promise<StdinAnswer | null>;

  /**
   * @param sequence as in `Processes.signal`; the result of one that was sent already is given again
   * @returns the system's error number, 0 when it was sent
   */
  signal(signal: string, sequence: number): Promise<number | null>;

  /** The terminal has this size from now on. @returns an error number; ENOTTY without a terminal */
  resize(rows: number, columns: number): Promise<number | null>;

  killTree(): Promise<number | null>;

  /** @returns an error number; ENOTSUP when the launch named no way to freeze */
  freeze(on: boolean): Promise<number | null>;

  /**
   * Renews the disconnect deadline: the task is stopped when this is not called for `forMs`. Null: never. A deadline that was
   * reached is not undone.
   */
  renew(forMs: number | null): Promise<number | null>;

  /**
   * Output as it comes, from the returned offsets on; earlier output is in the files. Under load pieces are left out: the
   * offset of the next piece shows the gap, and the files have it.
   */
  tail(listener: (piece: TailPiece) => void): Promise<{ readonly out: number; readonly err: number } | null>;

  /** Resolves when the connection is over: the shim has ended, or `close` was called. */
  readonly ended: Promise<void>;

  close(): void;
}

export interface TailPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/**
 * `next`: the offset that the shim accepts now. `gap`: the offset lies beyond it, and nothing was accepted. `closed`: the
 * task no longer reads, or its input has ended. `unsupported`: a shim of the first version, which has no stdin.
 */
export interface StdinAnswer {
  readonly next: number;
  readonly refused?: 'gap' | 'closed' | 'unsupported';
}

/** The system refused to start a process: no memory, too many of them. */
export class ProcessError extends Error {
  override readonly name = 'ProcessError';
  readonly retryable = true;
}
