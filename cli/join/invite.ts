import { fingerprintsIn } from '../../src/adapters/pki/certified.ts';
import { joinTokenText } from '../../src/core/access/invitation.ts';
import { ID_RULE, isId } from '../../src/core/cell/ids.ts';
import type { InvitationStatus } from '../../src/wire/join/join.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { timeText } from '../access/token.ts';
import { printAnswer, printList } from '../output/output.ts';

export interface InviteFlags {
  readonly san: readonly string[];
  readonly for: string;
}

/** Prints the token alone, so that it can be piped on. */
export async function inviteHost(context: Context, host: string, flags: InviteFlags): Promise<number> {
  if (!isId(host)) throw usageError(`"${host}" is no name of a host: ${ID_RULE}`, USAGE);
  const hosts = flags.san.flatMap((text) => text.split(',')).filter((text) => text !== '');
  if (hosts.length === 0)
    throw usageError('say at which address others reach it: its certificate counts there alone', USAGE);
  const reading = readDuration(flags.for);
  if (!reading.ok) throw usageError(`--for: ${reading.text}`, '--for 1h');
  const { monitors, authorities } = await context.monitors();
  if (authorities === null)
    throw usageError('this cell has no authority, so that nobody can be invited to it', 'docs/security.md');
  const made = await (await context.api()).invite({ host, hosts, ttlMs: reading.value });
  const token = joinTokenText({
    host,
    monitors,
    fingerprints: fingerprintsIn(authorities),
    shown: made.shown,
  });
  const { shown: _, ...invitation } = made;
  await printAnswer(context, { ...invitation, token }, { name: made.id, text: () => `${token}\n` });
  if (context.output === 'table')
    context.terminal.err(
      `${host} may join once, until ${new Date(made.endsAtMs).toISOString().slice(0, 16)}Z; the token is not shown again. ` +
        `Next, there: moorage host join TOKEN --data FOLDER; and where the authority's key lies: moorage pki sign AUTHORITY\n`,
    );
  return EXIT.ok;
}

export async function listInvitations(context: Context): Promise<number> {
  const answer = await (await context.api()).invitations();
  await printList<InvitationStatus>(context, {
    answer,
    rows: answer.invitations,
    columns: [
      { title: 'ID', cell: ({ id }) => id },
      { title: 'HOST', cell: ({ host }) => host },
      { title: 'AT', cell: ({ hosts }) => hosts.join(',') },
      { title: 'STATE', cell: ({ state }) => state },
      { title: 'BY', cell: ({ createdBy }) => createdBy },
      { title: 'UNTIL', cell: ({ endsAtMs }) => timeText(endsAtMs) },
    ],
    nameOf: ({ id }) => id,
    empty: `nobody is invited; next: ${USAGE}`,
  });
  return EXIT.ok;
}

/** @param named an invitation, or a host: all of its invitations that are not used */
export async function uninvite(context: Context, named: string): Promise<number> {
  const api = await context.api();
  const { invitations } = await api.invitations();
  const ofHost = invitations.filter(({ host, state }) => host === named && state !== 'used');
  const ids = ofHost.length > 0 ? ofHost.map(({ id }) => id) : [named];
  for (const id of ids) {
    await api.uninvite(id);
    context.terminal.out(`${id}\n`);
  }
  return EXIT.ok;
}

const USAGE = 'moorage host invite host-b --san 10.0.0.2';
