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
   * Sends the task's process group a signal, through the shim, which alone knows that the group is still the same.
   * @param sequence grows with each signal of an attempt; one that was sent already is not sent twice
   * @returns false when there is no shim to ask: it has ended, or not yet begun
   */
  signal(attempt: string, signal: string, sequence: number): Promise<boolean>;

  /** Does a shim answer for the attempt? For when its claim cannot be read. */
  answers(attempt: string): Promise<boolean>;

  /** Has the shim kill everything that the task started. @returns as `signal` */
  killTree(attempt: string): Promise<boolean>;

  /**
   * For an attempt whose shim died: kills all processes that carry the attempt's mark in their environment.
   * @returns how many there were; 0 when none is left
   */
  killLeftovers(attempt: string): Promise<number>;

  /** Those of the ports at which some process of this machine listens. */
  portsInUse(ports: readonly number[]): Promise<readonly number[]>;

  /**
   * Tells of attempts whose files changed: claimed, started, ended. A hint: may be late, doubled or missing.
   * @returns ends the telling
   */
  onEvent(listener: (attempt: string) => void): () => void;

  /** Lets go of what this process holds. Shims and tasks run on. */
  close(): Promise<void>;
}

/** A process number is used again; together with boot and start time it names one process for ever. */
export interface ProcessIdentity {
  readonly boot: string;
  readonly pid: number;
  /** Clock ticks from boot to the process's start. */
  readonly start: number;
}

/** The system refused to start a process: no memory, too many of them. */
export class ProcessError extends Error {
  override readonly name = 'ProcessError';
  readonly retryable = true;
}
