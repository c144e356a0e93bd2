import { resolve } from 'node:path';
import type { Issued, Rotation } from '../../src/adapters/pki/authority-folder.ts';
import { AUTHORITY_TTL_MS, AuthorityFolder, LEAF_TTL_MS } from '../../src/adapters/pki/authority-folder.ts';
import { ID_RULE, isId } from '../../src/core/cell/ids.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { IDENTITY_ROLES, identityUri } from '../../src/core/access/identity.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { writeExitCode } from '../command/write-exit-code.ts';
import { printList } from '../output/output.ts';

export interface IssueFlags {
  readonly role: string;
  readonly id: string;
  readonly san: readonly string[];
  readonly ttl?: string;
}

/** Without --san a role can be called on its own machine. */
const LOOPBACK_HOSTS = ['127.0.0.1', '::1', 'localhost'];

/** Makes the authority of a cell in the folder. One that is there stays. */
export async function init({ terminal }: Context, folder: string, cell: string): Promise<number> {
  checkId('--cell', cell);
  const authority = new AuthorityFolder(resolve(folder));
  const made = await inFolder(folder, () =>
    authority.init(cell, { nowMs: terminal.nowMs(), ttlMs: AUTHORITY_TTL_MS }),
  );
  const facts = await inFolder(folder, () => authority.facts());
  if (!made && facts.cell !== cell)
    throw usageError(`${folder} is the authority of cell ${facts.cell} already`, 'name another folder');
  terminal.out(`authority of cell ${facts.cell}, ${made ? 'new' : 'as before'}, ${untilText(facts)}\n`);
  terminal.out(`${authority.path}/ca.key  signs certificates: for whoever issues them, and nobody else\n`);
  return EXIT.ok;
}

/** Issues a certificate, or renews it: a process that runs with the folder takes the new one by itself. */
export async function issue({ terminal }: Context, folder: string, flags: IssueFlags): Promise<number> {
  const role = roleOf(flags.role);
  checkId('--id', flags.id);
  const hosts = flags.san.flatMap((text) => text.split(',')).filter((host) => host !== '');
  const authority = new AuthorityFolder(resolve(folder));
  const issued = await inFolder(folder, () =>
    authority.issue(
      { role, id: flags.id },
      {
        ...{ nowMs: terminal.nowMs(), ttlMs: ttlMsOf(flags.ttl) },
        hosts: hosts.length === 0 ? LOOPBACK_HOSTS : hosts,
      },
    ),
  );
  terminal.out(`${issued.folder}\n`);
  terminal.err(
    `${identityUri(issued.identity)} at ${issued.hosts.join(', ')}, ${untilText(issued)}\n` +
      `give the folder to it alone: ${usageOf(role)}\n`,
  );
  return EXIT.ok;
}

/** What to do before the next step: between two of them every process must have got its folder. */
const NEXT: Readonly<Record<Rotation, string>> = {
  trusted:
    'the new authority is trusted beside the old one. Carry each folder to its holder and restart the members of etcd,\n' +
    'one after the other, since they read whom they trust at their start; then the next step renews the certificates',
  renewed:
    'the new authority has issued all certificates anew. Carry each folder to its holder;\n' +
    'when all have theirs, the next step drops the old authority',
  none: 'the old authority is dropped. Carry each folder to its holder, and restart the members of etcd once more',
};

/** Makes the next step to another authority, without a stop of the cell. */
export async function rotate({ terminal }: Context, folder: string, ttl?: string): Promise<number> {
  const authority = new AuthorityFolder(resolve(folder));
  const times = { nowMs: terminal.nowMs(), ttlMs: ttlMsOf(ttl) };
  const { at, written } = await inFolder(folder, () => authority.rotate(times));
  for (const { folder: changed } of written) terminal.out(`${changed}\n`);
  terminal.err(`${NEXT[at]}${at === 'none' ? '' : `:\nmoorage pki rotate ${folder}`}\n`);
  return EXIT.ok;
}

/** Lists what was issued. */
export async function show(context: Context, folder: string): Promise<number> {
  const authority = new AuthorityFolder(resolve(folder));
  const facts = await inFolder(folder, () => authority.facts());
  const issued = await authority.issued();
  if (context.output === 'table')
    context.terminal.err(
      `authority of cell ${facts.cell}, ${untilText(facts)}\nSHA-256 ${facts.fingerprint}\n`,
    );
  const nowMs = context.terminal.nowMs();
  await printList<Issued>(context, {
    answer: { authority: facts, issued },
    rows: issued,
    columns: [
      { title: 'ROLE', cell: ({ identity }) => identity.role },
      { title: 'ID', cell: ({ identity }) => identity.id },
      { title: 'AT', cell: ({ hosts }) => hosts.join(',') },
      { title: 'UNTIL', cell: ({ notAfterMs }) => (notAfterMs > nowMs ? timeOf(notAfterMs) : 'expired') },
    ],
    nameOf: ({ identity }) => identityUri(identity),
    empty: `nothing was issued yet; next: moorage pki issue ${folder} --role scheduler --id s1`,
  });
  return EXIT.ok;
}

function roleOf(text: string): IdentityRole {
  const role = IDENTITY_ROLES.find((one) => one === text);
  if (role !== undefined) return role;
  throw usageError(`--role ${text}: name one of ${IDENTITY_ROLES.join(', ')}`, 'moorage pki issue --help');
}

function usageOf(role: IdentityRole): string {
  if (role === 'etcd')
    return 'etcd --cert-file F/identity.pem --key-file F/identity.pem --trusted-ca-file F/ca.pem';
  return role === 'operator'
    ? 'MOORAGE_CREDENTIALS=FOLDER moorage ps'
    : `moorage ${role} --credentials FOLDER`;
}

function untilText({ notAfterMs }: { readonly notAfterMs: number }): string {
  return `until ${timeOf(notAfterMs)}`;
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

export function ttlMsOf(text: string | undefined): number {
  if (text === undefined) return LEAF_TTL_MS;
  const reading = readDuration(text);
  if (reading.ok && reading.value > 0) return reading.value;
  throw usageError(`--ttl: ${reading.ok ? 'must not be zero' : reading.text}`, '--ttl 24h');
}

function checkId(flag: string, id: string): void {
  if (!isId(id)) throw usageError(`${flag} ${id}: ${ID_RULE}`, 'moorage pki --help');
}

export async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && error.name === 'CredentialsError')
      throw new CliError(EXIT.usage, error.message, 'moorage pki --help', error);
    throw new CliError(writeExitCode(error), `${folder}: ${fileFault(error)}`, 'name another folder', error);
  }
}
