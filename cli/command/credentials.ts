import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { CliError, EXIT } from './exit.ts';

/**
 * @param log of a process that lives long: it follows the folder's files; null: they are read once
 * @throws CliError
 */
export function readCredentials(folder: string, log: Log | null): Credentials {
  try {
    return openCredentials(folder, log);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'CredentialsError') throw error;
    throw new CliError(EXIT.usage, error.message, 'moorage pki issue --help', error);
  }
}
