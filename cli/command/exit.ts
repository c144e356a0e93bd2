import { constants } from 'node:os';
import type { Exit } from '../../src/core/cell/allocation.ts';

/** Exit codes. A one-off run that ends exits with the code of its command. */
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
  /** A one-off run failed in Moorage, not in its command (as `docker run`). */
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

/** An error while stopping: reported like any other, with the exit code of a failure. */
export function failedStop(error: unknown): CliError {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof CliError ? error.hint : null;
  return new CliError(EXIT.workloadFailed, `told to end, and failed: ${message}`, hint, error);
}

/** An error that no caller expects. */
export function unexpected(error: unknown): CliError {
  const message = error instanceof Error ? error.message : String(error);
  return new CliError(
    EXIT.workloadFailed,
    message,
    'the same with MOORAGE_DEBUG=1 shows where it happened',
    error,
  );
}

export function usageError(message: string, hint: string): CliError {
  return new CliError(EXIT.usage, message, hint);
}

/** 128 and the signal's number, as shells have it. */
export function signalCode(exit: Exit): number {
  const number = (constants.signals as Readonly<Record<string, number>>)[exit.signal ?? ''];
  return number === undefined ? EXIT.ownFault : EXIT.signalBase + number;
}
