/** What an exit code says to the shell that called us. The codes of a one-off run are the child's own. */
export const EXIT = {
  ok: 0,
  /** The job ran and failed. */
  workloadFailed: 1,
  /** It could not be placed in time. */
  unplaceable: 2,
  /** Another version of the job is there than the one that was named. */
  versionConflict: 3,
  /** The cell cannot be reached, or refused. */
  unreachable: 4,
  /** The command line is wrong (sysexits: EX_USAGE). */
  usage: 64,
  /** The job file or another input is wrong (sysexits: EX_DATAERR). */
  badSpec: 65,
  /** A one-off run failed by our own fault, as docker says it. */
  ownFault: 125,
  /** Added to the number of a signal, as shells do. */
  signalBase: 128,
} as const;

/** An error that ends the command: a sentence, what to do next, and the code for the shell. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly hint: string | null;

  constructor(exitCode: number, message: string, hint: string | null = null, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** What went wrong while an order to end was being obeyed: said like any other fault, with the status of what failed. */
export function inLeaving(error: unknown): CliError {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof CliError ? error.hint : null;
  return new CliError(EXIT.workloadFailed, `told to end, and failed: ${message}`, hint, error);
}

export function usageError(message: string, hint: string): CliError {
  return new CliError(EXIT.usage, message, hint);
}
