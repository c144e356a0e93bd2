import { errorText } from '../../src/core/errors/errors.ts';
import type { StoreErrorCode } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { CliError, EXIT, unexpected } from '../command/exit.ts';

/** What to do about the roles' own refusals to start, by the error's name. */
const HINTS: Readonly<Record<string, string>> = {
  StateFolderError: 'give each agent a folder of its own with --data',
  HostTakenError: 'give each agent a name of its own with --id',
  ReserveError: 'lower --reserve, or announce more with --cpu, --memory, --disk or --resource',
  KeyFileError: 'check the folder that --keys names',
  FailOrderError: 'correct MOORAGE_FAILPOINT; moorage fail-points lists all names',
};

const STORE_HINTS: Partial<Record<StoreErrorCode, string>> = {
  'wrong-server':
    "it begins anew with what the store holds now; if that is another cell's, name the right one with --etcd",
  denied: 'an operator makes the cell and its rights: moorage store secure --etcd URL --cell NAME',
};

/** What keeps a role from starting, in one line, with what to do about it. */
export function faultOf(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const message = errorText(error);
  if (error instanceof StoreError) {
    const hint = STORE_HINTS[error.code] ?? 'check that etcd is up and that --etcd names it';
    return new CliError(EXIT.unreachable, `the store: ${message}`, hint, error);
  }
  if (error instanceof Error && error.name === 'SchemaError')
    return new CliError(
      EXIT.unreachable,
      message,
      'run the version of Moorage that made this cell, or name another with --cell',
      error,
    );
  const hint = error instanceof Error ? HINTS[error.name] : undefined;
  if (hint !== undefined) return new CliError(EXIT.unreachable, message, hint, error);
  const code = codeOf(error);
  if (code === 'EADDRINUSE')
    return new CliError(
      EXIT.unreachable,
      `the port is taken: ${message}`,
      'name another with --listen HOST:PORT; port 0 takes any free one',
      error,
    );
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES')
    return new CliError(EXIT.unreachable, `cannot listen there: ${message}`, '--listen 127.0.0.1:0', error);
  if (code === 'ENOENT')
    return new CliError(EXIT.usage, message, 'check the folders that --keys and --data name', error);
  return unexpected(error);
}

function codeOf(error: unknown): string | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
  }
  return null;
}
