import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isIssuer } from '../../src/core/access/openid.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { OpenIdStatus } from '../../src/wire/access/openid-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { printAnswer, printList } from '../output/output.ts';
import { timeText } from './token.ts';

export interface OpenIdFlags {
  readonly issuer: string;
  readonly audience: string;
  readonly namespacesClaim: string;
  readonly scopeClaim?: string;
  readonly ca?: string;
}

const HINT = 'moorage openid set --help';

/** Lets the tokens of a provider count. */
export async function setOpenId(context: Context, name: string, flags: OpenIdFlags): Promise<number> {
  const { issuer, audience, namespacesClaim, scopeClaim, ca } = flags;
  if (!isId(name))
    throw usageError(`"${name}" is no name of a provider`, 'lower-case letters, digits and hyphens');
  if (!isIssuer(issuer))
    throw usageError(`--issuer ${issuer}: write it as tokens name it, https://… without a query`, HINT);
  const authorities = ca === undefined ? {} : { authorities: readAuthorities(context, ca) };
  const answer = await (
    await context.api()
  ).setOpenId(name, {
    ...{ issuer, audience, namespacesClaim, ...authorities },
    ...(scopeClaim === undefined ? {} : { scopeClaim }),
  });
  await printAnswer(context, answer, { text: () => `${name}\n` });
  return EXIT.ok;
}

export async function listOpenId(context: Context): Promise<number> {
  const answer = await (await context.api()).openIdProviders();
  await printList<OpenIdStatus>(context, {
    answer,
    rows: answer.providers,
    columns: [
      { title: 'NAME', cell: ({ name }) => name },
      { title: 'ISSUER', cell: ({ issuer }) => issuer },
      { title: 'AUDIENCE', cell: ({ audience }) => audience },
      { title: 'NAMESPACES', cell: ({ namespacesClaim }) => namespacesClaim },
      { title: 'SCOPE', cell: ({ scopeClaim }) => scopeClaim ?? 'read' },
      { title: 'KEYS', cell: keysText },
    ],
    nameOf: ({ name }) => name,
    empty: 'there are no providers; next: moorage openid set NAME --issuer URL --audience NAME',
  });
  return EXIT.ok;
}

export async function deleteOpenId(context: Context, name: string): Promise<number> {
  await (await context.api()).deleteOpenId(name);
  context.terminal.out(`${name}\n`);
  return EXIT.ok;
}

function keysText({ keys: { count, readAtMs, fault } }: OpenIdStatus): string {
  const known = readAtMs === null ? 'none' : `${String(count)}, ${timeText(readAtMs)}`;
  return fault === null ? known : `${known}; ${fault}`;
}

function readAuthorities({ terminal: { cwd } }: Context, file: string): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw usageError(`${file}: ${fileFault(error)}`, HINT);
  }
}
