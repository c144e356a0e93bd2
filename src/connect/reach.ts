import type { Showing } from '../adapters/pki/bearer.ts';
import type { MonitorClient } from '../clients/monitor-client.ts';
import type { MonitorAddresses } from '../clients/monitor-failover.ts';
import type { FoundCell } from './cell-address.ts';
import { credentialsFolder } from './cell-address.ts';
import type { Environment } from './connect-error.ts';
import { ConnectError } from './connect-error.ts';

/** Where the cell's monitors are, and what is shown to them; undefined: nothing, to a cell without certificates. */
export interface CellReach {
  readonly addresses: MonitorAddresses;
  readonly showing: Showing | undefined;
}

/** @param sources where a certificate is looked for @throws ConnectError when it is there and cannot be read */
export async function reachOf(
  { addresses, context }: FoundCell,
  sources: { readonly credentials: string | undefined; readonly env: Environment; readonly cwd: string },
): Promise<CellReach> {
  const { credentials: option, env, cwd } = sources;
  const named = credentialsFolder({ option, env, cwd }, addresses.urls);
  if (named === null && context?.token !== undefined && context.authorities !== undefined)
    return bearerReach(addresses, context.token, context.authorities);
  const folder = named ?? context?.credentials ?? null;
  if (folder === null) return { addresses, showing: undefined };
  const { readCredentials } = await import('./credentials.ts');
  return { addresses, showing: readCredentials(folder, null) };
}

/** @param signal ends every call that has none of its own */
export async function clientOf(
  { addresses, showing }: CellReach,
  signal: AbortSignal | undefined,
): Promise<MonitorClient> {
  const [{ nodeClient }, { MonitorClient: Client }] = await Promise.all([
    import('../adapters/http/node-client.ts'),
    import('../clients/monitor-client.ts'),
  ]);
  return new Client(nodeClient(showing), addresses, signal);
}

/** @param authorities as PEM. @throws ConnectError without them */
export async function bearerReach(
  addresses: MonitorAddresses,
  token: string,
  authorities: string | undefined,
): Promise<CellReach> {
  if (authorities === undefined)
    throw new ConnectError(
      'a token is shown to monitors of a known authority only',
      'name it: `authorities`, as PEM',
    );
  const { bearerOf } = await import('../adapters/pki/bearer.ts');
  return { addresses, showing: bearerOf(token, authorities) };
}
