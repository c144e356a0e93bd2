import type { Credentials } from '../adapters/pki/credentials.ts';
import { openCredentials } from '../adapters/pki/credentials.ts';
import type { Log } from '../ports/telemetry.ts';
import { ConnectError } from './connect-error.ts';

/**
 * @param log of a process that lives long: it follows the folder's files; null: they are read once
 * @throws ConnectError
 */
export function readCredentials(folder: string, log: Log | null): Credentials {
  try {
    return openCredentials(folder, log);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'CredentialsError') throw error;
    throw new ConnectError(error.message, 'moorage pki issue --help', error);
  }
}
