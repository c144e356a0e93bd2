import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { credentialsFolder, runningCell } from '../../src/connect/cell-address.ts';
import type { Context } from '../command/context.ts';
import { readCredentials } from '../../src/connect/credentials.ts';
import { usageError } from '../command/exit.ts';

/** Which store a verb works on, as it was typed. */
export interface StoreFlags {
  readonly etcd: readonly string[];
  readonly cell?: string;
  readonly credentials?: string;
}

export interface NamedStore {
  readonly etcd: readonly string[];
  readonly cell: string;
  readonly credentials: Credentials | undefined;
}

/** The store that the flags name, or that of the development cell in this folder. @param verb for the hint @throws CliError */
export function storeOf(context: Context, options: StoreFlags, verb: string): NamedStore {
  const running = runningCell(context.terminal.cwd);
  const etcd = options.etcd.flatMap((text) => text.split(',')).filter((text) => text !== '');
  const credentialsAt = (urls: readonly string[]): Credentials | undefined => {
    const { env, cwd } = context.terminal;
    const folder = credentialsFolder({ option: options.credentials, env, cwd }, urls);
    return folder === null ? undefined : readCredentials(folder, null);
  };
  if (etcd.length > 0)
    return { etcd, cell: options.cell ?? running?.cell ?? 'default', credentials: credentialsAt(etcd) };
  if (running === null)
    throw usageError(
      'name the store: --etcd http://host:port',
      `moorage ${verb} --etcd http://127.0.0.1:2379 --cell NAME`,
    );
  return {
    etcd: running.etcd,
    cell: options.cell ?? running.cell,
    credentials: credentialsAt(running.etcd),
  };
}
