/** Short programs that a host-agent or a monitor runs for itself: not tasks, and never for long. */
export interface Commands {
  /**
   * Runs a program to its end. Input is empty; output beyond `COMMAND_OUTPUT_BYTES_MAX` is dropped.
   * @param command its name is looked up in the PATH of this process
   * @returns how it ended; a missing program, or one that took longer than `timeoutMs`, has code null
   */
  run(command: readonly string[], timeoutMs: number): Promise<CommandEnd>;
}

export interface CommandEnd {
  /** null: it could not be run, was killed, or took too long. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Programs that are run here print a version or an error. */
export const COMMAND_OUTPUT_BYTES_MAX = 64 * 1024;
