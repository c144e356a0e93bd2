import type { ExecOrder, ShimState } from '../core/host/shim.ts';

/**
 * Processes as the host-agent sees them. A task is never the agent's child: each attempt at one has a *shim*, a process of
 * its own, that is the task's parent, writes its output and its end into the attempt's folder, and outlives the agent.
 *
 * The folder of attempt A is `attempts/A` under the agent's state folder (see `wire/shim-files.ts` for what lies in it);
 * the files are the truth, and everything here is a request or a hint.
 */
export interface Processes {
  /** Of this boot of the machine: what another boot started no longer runs. */
  readonly bootId: string;
  /** The calling process. */
  readonly self: ProcessIdentity;

  /** Does exactly this process still run? A process that took over the number is another one; a zombie has ended. */
  isAlive(identity: ProcessIdentity): Promise<boolean>;

  /**
   * Asks for a shim for the attempt, whose folder and `launch` are there. May be asked again: of several shims of one
   * attempt one gets the claim, the others end without having done anything.
   * @throws ProcessError
   */
  startShim(attempt: string): Promise<void>;

  /**
   * Runs a command in the context of an attempt's task: its groups, its namespaces, its environment and user. A command id
   * is used once: asked again, also by another agent and with other content, nothing more is run, and what came of the
   * first is under the same name.
   * @param order what is absent in it is as the task has it
   * @returns the name by which everything here and in the state folder knows it, an attempt of its own; null when the task
   *   does not run, and so nothing was or will be begun
   * @throws ProcessError
   */
  exec(attempt: string, commandId: string, order: ExecOrder): Promise<string | null>;

  /** A talk with the attempt's shim. @returns null when there is none to talk to: it has ended, or not yet begun */
  open(attempt: string): Promise<ShimLink | null>;

  /**
   * Sends the task's process group a signal, through the shim, which alone knows that the group is still the same.
   * @param sequence grows with each signal of an attempt; one that was sent already is not sent twice
   * @returns false when there is no shim to ask: it has ended, or not yet begun
   */
  signal(attempt: string, signal: string, sequence: number): Promise<boolean>;

  /** Does a shim answer for the attempt? For when its claim cannot be read. */
  answers(attempt: string): Promise<boolean>;

  /** Has the shim kill everything that the task started, again and again until it has ended. @returns as `signal` */
  killTree(attempt: string): Promise<boolean>;

  /**
   * For an attempt whose shim died: kills all processes in the groups of its launch, and all that carry the attempt's mark
   * in their environment.
   * @returns how many there were; 0 when none is left
   */
  killLeftovers(attempt: string): Promise<number>;

  /** All attempts of which a process runs on this machine, of this host and of others, by their marks. */
  marked(): Promise<readonly MarkedAttempt[]>;

  /** Kills all processes with the marks of this attempt. @returns how many there were; 0 when none is left */
  killMarked(stateId: string, attempt: string): Promise<number>;

  /** Those of the ports at which some process of this machine listens. */
  portsInUse(ports: readonly number[]): Promise<readonly number[]>;

  /**
   * Those of the IPv4 addresses that some process of this machine has a socket on: it listens there, or takes datagrams.
   * Who takes what comes to any address does not count, nor who only talks to such a one.
   */
  addressesInUse(addresses: readonly string[]): Promise<readonly string[]>;

  /**
   * Tells of attempts whose files changed: started, ended; of commands inside them under the name that `exec` gave. A
   * hint: may be late, doubled or missing.
   * @returns ends the telling
   */
  onEvent(listener: (attempt: string) => void): () => void;

  /** Lets go of what this process holds. Shims and tasks run on. */
  close(): Promise<void>;
}

export interface MarkedAttempt {
  /** Whose it is: the id of a state folder. */
  readonly stateId: string;
  readonly attempt: string;
  /** The folder in which its shim keeps its facts was deleted: nobody will ever take it over. */
  readonly deserted: boolean;
}

/** A process number is used again; together with boot and start time it names one process for ever. */
export interface ProcessIdentity {
  readonly boot: string;
  readonly pid: number;
  /** Clock ticks from boot to the process's start. */
  readonly start: number;
}

/**
 * A connection to one shim. Everything asked is answered in the order of asking. Where the shim goes away or falls silent
 * while it is asked, the answer is `null`: whether it was done, its next answer or its `exit` will tell.
 */
export interface ShimLink {
  /** @returns what the shim says of itself now */
  state(): Promise<ShimState | null>;

  /**
   * Feeds the task's stdin. The shim takes what lies at its `next`, ignores what lies before it, and refuses what lies
   * beyond; with its buffer full it takes less, or nothing. So bytes may be sent again, and none goes in twice.
   * @param offset of the first byte, counted from the task's start
   */
  writeStdin(offset: number, bytes: Uint8Array): Promise<StdinAnswer | null>;

  /** The task's stdin ends at `offset`. In a terminal: its end-of-file character is typed. */
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
   * Puts off the disconnect deadline: the task is stopped when nobody has called this for `forMs`. Null: it never is.
   * A deadline that was reached is not taken back.
   */
  renew(forMs: number | null): Promise<number | null>;

  /**
   * Output as it comes, from the returned offsets on; what lies before them is in the files. Under load pieces are left
   * out: a piece whose offset is not where the last one ended says so, and the files have them.
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
 * `next`: from which the shim takes bytes now. `gap`: the offset lies beyond it, nothing was taken. `closed`: nobody reads
 * any more, or the end was said. `unsupported`: a shim of the first version, which has no stdin.
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
