import { HostKeyError, sealSecret } from '../../src/adapters/pki/host-key.ts';
import { SECRET_BYTES_MAX } from '../../src/core/access/secret.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { SecretStatus } from '../../src/wire/access/secret-api.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { printList } from '../output/output.ts';
import { timeText } from './token.ts';

const HINT = 'moorage secret set NAME < FILE';

/** Seals what comes on standard input to the hosts of the cell, so that nothing between here and a task can read it. */
export async function setSecret(context: Context, name: string): Promise<number> {
  if (!isId(name))
    throw usageError(`"${name}" is no name of a secret`, 'lower-case letters, digits and hyphens');
  if (process.stdin.isTTY) context.terminal.err('type the secret, then Ctrl-D\n');
  const value = await readText('-', HINT);
  const bytes = Buffer.byteLength(value);
  if (bytes === 0 || bytes > SECRET_BYTES_MAX)
    throw usageError(`a secret has 1 to ${String(SECRET_BYTES_MAX)} bytes; this has ${String(bytes)}`, HINT);
  const { authorities } = await context.monitors();
  if (authorities === null)
    throw new CliError(
      EXIT.usage,
      'this cell has no authority, and so no key of its hosts',
      'moorage pki init',
    );
  const api = await context.api();
  const { namespace } = context;
  const { cell, certificate: shown } = await api.hostKey();
  try {
    const nowMs = context.terminal.nowMs();
    const sealed = sealSecret(value, { cell, namespace, name }, { shown, authorities, nowMs });
    await api.setSecret({ namespace, name }, { sealed });
  } catch (error) {
    if (!(error instanceof HostKeyError)) throw error;
    throw new CliError(EXIT.usage, error.message, 'ask another monitor: --address URL', error);
  }
  context.terminal.out(`${name}\n`);
  return EXIT.ok;
}

export async function listSecrets(context: Context, isAll: boolean): Promise<number> {
  const answer = await (await context.api()).secrets(isAll ? undefined : context.namespace);
  await printList<SecretStatus>(context, {
    answer,
    rows: answer.secrets,
    columns: [
      ...(isAll ? [{ title: 'NAMESPACE', cell: ({ namespace }: SecretStatus) => namespace }] : []),
      { title: 'NAME', cell: ({ name }) => name },
      { title: 'BY', cell: ({ setBy }) => setBy },
      { title: 'SINCE', cell: ({ setAtMs }) => timeText(setAtMs) },
    ],
    nameOf: ({ name }) => name,
    empty: `there are no secrets; next: ${HINT}`,
  });
  return EXIT.ok;
}

export async function deleteSecret(context: Context, name: string): Promise<number> {
  await (await context.api()).deleteSecret({ namespace: context.namespace, name });
  context.terminal.out(`${name}\n`);
  return EXIT.ok;
}
