import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bearerOf } from '../../src/adapters/pki/bearer.ts';
import { CREDENTIAL_FILES } from '../../src/adapters/pki/pki.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { MonitorAddresses } from '../../src/clients/monitor-failover.ts';
import { isJsonWebToken } from '../../src/core/access/openid.ts';
import { tokenIdOf } from '../../src/core/access/token.ts';
import type { WhoAmI } from '../../src/wire/access/token-api.ts';
import { credentialsFolder, findCell } from '../../src/connect/cell-address.ts';
import type { Context, GlobalOptions } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import { EXIT } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { readText } from '../command/read-text.ts';
import { saveContext } from './saved-contexts.ts';
import { namespacesText, timeText } from './token.ts';

export interface LoginFlags {
  readonly ca?: string;
}

/** Keeps the token once the cell has said whose it is. */
export async function login(
  context: Context,
  written: string | undefined,
  options: GlobalOptions & LoginFlags,
): Promise<number> {
  const { env, cwd } = context.terminal;
  const { addresses } = findCell({ option: options.address ?? [], context: options.context, env, cwd });
  const authorities = readAuthorities(context, options, addresses);
  if (process.stdin.isTTY) context.terminal.err('paste the token, then Enter and Ctrl-D\n');
  const token = (await readText('-', HINT)).trim();
  if (tokenIdOf(token) === null && !isJsonWebToken(token))
    throw usageError('what came on standard input is no token', 'moorage token create NAME | moorage login');
  const client = new MonitorClient(nodeClient(bearerOf(token, authorities)), addresses, context.interrupted);
  const who = await client.whoAmI();
  const name = written ?? who.cell;
  const namespace = options.namespace ?? usualNamespace(who);
  await saveContext(context, name, { addresses: addresses.urls, namespace, token, authorities });
  context.terminal.out(`${name}\n`);
  context.terminal.err(
    `${who.name} of cell ${who.cell}: scope ${who.scope ?? '-'}, ${namespacesText(who.namespaces)}, ` +
      `until ${timeText(who.endsAtMs ?? 0)}\n`,
  );
  return EXIT.ok;
}

const HINT = 'moorage login --address URL --ca FILE < TOKEN';

/** `default` where the token may use it, else the first of its namespaces. */
function usualNamespace({ namespaces }: WhoAmI): string {
  if (namespaces === null || namespaces.includes('default')) return 'default';
  return namespaces[0] ?? 'default';
}

function readAuthorities(
  { terminal: { env, cwd } }: Context,
  { ca, credentials }: GlobalOptions & LoginFlags,
  { urls }: MonitorAddresses,
): string {
  const folder = ca === undefined ? credentialsFolder({ option: credentials, env, cwd }, urls) : null;
  const file = ca ?? (folder === null ? null : join(folder, CREDENTIAL_FILES.authorities));
  if (file === null) throw usageError("nothing says which authority is the cell's", `${HINT}   (its ca.pem)`);
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw usageError(`${file}: ${fileFault(error)}`, HINT);
  }
}
