import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { tokenIdOf } from '../../src/core/access/token.ts';
import { ID_RULE, isId } from '../../src/core/cell/ids.ts';
import { splitAddresses } from '../../src/connect/cell-address.ts';
import type { Context } from '../command/context.ts';
import type { Contexts, SavedContext } from '../../src/connect/contexts.ts';
import { contextsFile, readContexts } from '../../src/connect/contexts.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { writeExitCode } from '../command/write-exit-code.ts';
import { printList } from '../output/output.ts';

export interface SetFlags {
  readonly address: readonly string[];
  readonly credentials?: string;
  readonly namespace?: string;
}

/** Without the tokens: they are nobody's to see. */
export async function listContexts(context: Context): Promise<number> {
  const { current, contexts } = readContexts(context.terminal.env);
  const rows = Object.entries(contexts).map(([name, saved]) => ({
    ...{ name, current: name === current, addresses: saved.addresses },
    ...{ namespace: saved.namespace ?? 'default', shows: showsOf(saved) },
  }));
  await printList(context, {
    answer: { current, contexts: rows },
    rows,
    columns: [
      { title: '', cell: (row) => (row.current ? '*' : '') },
      { title: 'CONTEXT', cell: ({ name }) => name },
      { title: 'NAMESPACE', cell: ({ namespace }) => namespace },
      { title: 'SHOWS', cell: ({ shows }) => shows },
      { title: 'ADDRESSES', cell: ({ addresses }) => addresses.join(',') },
    ],
    nameOf: ({ name }) => name,
    empty: 'no cell is saved; next: moorage login --address URL --ca FILE',
  });
  return EXIT.ok;
}

function showsOf({ token, credentials }: SavedContext): string {
  if (token !== undefined) return `token ${tokenIdOf(token) ?? 'of an OpenID provider'}`;
  return credentials === undefined ? 'nothing' : `certificate in ${credentials}`;
}

export async function useContext(context: Context, name: string): Promise<number> {
  const saved = readContexts(context.terminal.env);
  mustHave(saved, name);
  await writeContexts(context, { ...saved, current: name });
  context.terminal.out(`${name}\n`);
  return EXIT.ok;
}

export async function setContext(context: Context, name: string, flags: SetFlags): Promise<number> {
  const { namespace, credentials } = flags;
  await saveContext(context, name, {
    addresses: splitAddresses(flags.address, '--address'),
    ...(namespace === undefined ? {} : { namespace }),
    ...(credentials === undefined ? {} : { credentials: resolve(context.terminal.cwd, credentials) }),
  });
  context.terminal.out(`${name}\n`);
  return EXIT.ok;
}

export async function removeContext(context: Context, name: string): Promise<number> {
  const { current, contexts } = readContexts(context.terminal.env);
  mustHave({ current, contexts }, name);
  const { [name]: _, ...others } = contexts;
  await writeContexts(context, { current: current === name ? null : current, contexts: others });
  context.terminal.out(`${name}\n`);
  return EXIT.ok;
}

/** It becomes the current one. @throws CliError */
export async function saveContext(context: Context, name: string, saved: SavedContext): Promise<void> {
  if (!isId(name)) throw usageError(`"${name}" is no name of a context: ${ID_RULE}`, 'moorage context');
  const { contexts } = readContexts(context.terminal.env);
  await writeContexts(context, { current: name, contexts: { ...contexts, [name]: saved } });
}

function mustHave({ contexts }: Contexts, name: string): void {
  if (!Object.hasOwn(contexts, name)) throw usageError(`there is no context ${name}`, 'moorage context');
}

/** As a whole, for its owner alone. */
async function writeContexts({ terminal }: Context, contexts: Contexts): Promise<void> {
  const file = contextsFile(terminal.env);
  const part = `${file}.${randomUUID()}.part`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(part, `${JSON.stringify({ v: 1, ...contexts }, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    const hint = 'MOORAGE_CONFIG names another file';
    throw new CliError(writeExitCode(error), `cannot write ${file}: ${fileFault(error)}`, hint, error);
  }
}
