/**
 * How a machine becomes a host of a cell.
 *
 * 1. `invite.ts`: an operator asks a monitor for an invitation, and gets a token that names the host, the monitors, the
 *    authority's fingerprint, and a secret.
 * 2. This file, on the machine: it makes a key of its own, checks that a monitor's authority is the one that the token names,
 *    shows the secret, and asks for a certificate.
 * 3. Whoever holds the authority's key answers (`cli/operator/sign.ts`); the machine keeps what comes in its
 *    `joined-folder.ts`, which its agent reads from then on.
 * 4. `renewal.ts`: the agent takes its renewed certificate from the store.
 *
 * Where there is no cell yet, `bare.ts` waits on the machine for whoever makes one (`cli/bootstrap`).
 */
import { readFileSync } from 'node:fs';
import { errorText } from '../../src/core/errors/errors.ts';
import { bearerOf } from '../../src/adapters/pki/bearer.ts';
import { isOfKey, openBundle, requestFor } from '../../src/adapters/pki/bundle.ts';
import { shownAuthority } from '../../src/adapters/pki/shown-authority.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Bundle, JoinToken, SignedBundle } from '../../src/core/access/invitation.ts';
import { invitationIdOf, readJoinToken } from '../../src/core/access/invitation.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { hostsIn } from '../../src/adapters/pki/certified.ts';
import { JoinedFolder } from './joined-folder.ts';

export interface JoinFlags {
  readonly data: string;
  readonly id?: string;
  readonly listen?: string;
  readonly wait: string;
}

/** Where an agent listens unless it is told another port. */
const AGENT_PORT = 7_403;

/** @param written the token, or `-`: it comes on standard input, and is in no list of processes */
export async function joinCell(context: Context, written: string, flags: JoinFlags): Promise<number> {
  const token = readToken(written);
  if (flags.id !== undefined && flags.id !== token.host)
    throw usageError(`this token is for the host ${token.host}, not for ${flags.id}`, AGAIN);
  const waiting = readDuration(flags.wait);
  if (!waiting.ok) throw usageError(`--wait: ${waiting.text}`, '--wait 2m');
  const folder = new JoinedFolder(flags.data);
  const joined = folder.read();
  if (joined !== null)
    throw usageError(
      `${flags.data} is of the host ${joined.id} of cell ${joined.cell} already`,
      `moorage agent --data ${flags.data}   (or another folder)`,
    );
  const key = await inData(flags.data, () => folder.key());
  const authority = await authorityOf(token);
  const signed = await answered(context, token, { authority, key, waitMs: waiting.value });
  const bundle = checked(signed, authority, key, token);
  const listen = flags.listen ?? usualListen(bundle);
  await inData(flags.data, () => folder.write(bundle, key, { listen }));
  context.terminal.out(`moorage agent --data ${flags.data}\n`);
  context.terminal.err(
    `host ${bundle.id} of cell ${bundle.cell}; its agent will listen on ${listen}. Next, as root: the line above\n`,
  );
  return EXIT.ok;
}

const AGAIN = 'an operator makes another: moorage host invite NAME --san ADDRESS';

function readToken(written: string): JoinToken {
  let text = written;
  if (written === '-')
    try {
      text = readFileSync(0, 'utf8');
    } catch (error) {
      throw usageError(`standard input: ${fileFault(error)}`, 'moorage host join - --data FOLDER < TOKEN');
    }
  const token = readJoinToken(text);
  if (token === null) throw usageError('this is no token with which a host joins', AGAIN);
  return token;
}

/** Of the first monitor that answers. @throws CliError: it is another authority, or none answers */
async function authorityOf({ monitors, fingerprints }: JoinToken): Promise<string> {
  const faults: string[] = [];
  for (const url of monitors)
    try {
      return await shownAuthority(url, fingerprints);
    } catch (error) {
      if (error instanceof Error && error.name === 'CredentialsError')
        throw new CliError(
          EXIT.unreachable,
          `${error.message}; nothing was sent to it`,
          'somebody may stand between, or the token is of another cell: ask the operator who made it',
          error,
        );
      faults.push(`${url}: ${errorText(error)}`);
    }
  throw new CliError(
    EXIT.unreachable,
    `no monitor answers: ${faults.join('; ')}`,
    'try again, or ask for another token',
  );
}

async function answered(
  { terminal, interrupted }: Context,
  { monitors, shown }: JoinToken,
  { authority, key, waitMs }: { readonly authority: string; readonly key: string; readonly waitMs: number },
): Promise<SignedBundle> {
  const client = new MonitorClient(
    nodeClient(bearerOf(shown, authority)),
    { urls: monitors, from: 'the token' },
    interrupted,
  );
  const request = requestFor(key, invitationIdOf(shown) ?? '');
  const untilMs = terminal.nowMs() + waitMs;
  for (let isTold = false; ;) {
    const found = await client.join(request).catch((error: unknown) => {
      if (!(error instanceof ProblemError) || error.problem.code !== 'bad-token') throw error;
      throw new CliError(EXIT.unreachable, 'the cell knows nothing of this token', AGAIN, error);
    });
    if (found.state === 'answered') return found.answer;
    if (!isTold) terminal.err('asked; waiting for who holds the key of the authority (moorage pki sign)\n');
    isTold = true;
    if (terminal.nowMs() >= untilMs)
      throw new CliError(
        EXIT.unreachable,
        'nobody has signed the certificate yet; the request stays on record',
        "moorage pki sign AUTHORITY, where the authority's key lies; then the same command here again",
      );
  }
}

/** Everything in it was signed by the authority that the token names. @throws CliError */
function checked(signed: SignedBundle, authority: string, key: string, { host }: JoinToken): Bundle {
  try {
    const bundle = openBundle(signed, authority);
    if (bundle.role === 'agent' && bundle.id === host && isOfKey(bundle.certificate, key)) return bundle;
  } catch (error) {
    throw new CliError(EXIT.unreachable, `the answer cannot be trusted: ${String(error)}`, AGAIN, error);
  }
  throw new CliError(EXIT.unreachable, 'the answer is for another host or another key', AGAIN);
}

function usualListen({ certificate }: Bundle): string {
  const [host = '127.0.0.1'] = hostsIn(certificate);
  return `${host.includes(':') ? `[${host}]` : host}:${String(AGENT_PORT)}`;
}

async function inData<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(
      EXIT.usage,
      `${folder}: ${fileFault(error)}`,
      'name a folder that can be written',
      error,
    );
  }
}
