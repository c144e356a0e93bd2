import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readPinnedKeys } from '../../src/adapters/tickets/key-files.ts';
import type { ReadTicket } from '../../src/adapters/tickets/tickets.ts';
import { readTicket, ticketVerifier } from '../../src/adapters/tickets/tickets.ts';
import { CLOCK_TOLERANCE_MS } from '../../src/core/quota/ticket.ts';
import { cores, size } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { readText } from '../command/read-text.ts';
import { printAnswer } from '../output/output.ts';

export interface VerifyFlags {
  readonly keys: string;
  readonly host?: string;
  readonly at?: string;
}

export async function inspectTicket(context: Context, file: string): Promise<number> {
  const { found } = await ticketIn(file);
  await printAnswer(context, found, { name: found.body.jti, text: () => textOf(found) });
  return EXIT.ok;
}

/** Checks signature, host and time as a host does; that its request asks for the same, only the host sees. */
export async function verifyTicket(context: Context, file: string, flags: VerifyFlags): Promise<number> {
  const { text, found } = await ticketIn(file);
  const { body } = found;
  const atMs = flags.at === undefined ? context.terminal.nowMs() : Date.parse(flags.at);
  if (Number.isNaN(atMs)) throw usageError(`--at ${flags.at ?? ''}: no time`, 'moorage ticket verify --help');
  const verifier = ticketVerifier(await pinnedIn(flags.keys));
  const answer = await verifier.verify(text, flags.host ?? body.aud, body.hostIncarnation);
  const against = answer.valid ? lateness(body, atMs) : REASONS[answer.reason];
  const result = { valid: against === null, reason: against, ...found };
  await printAnswer(context, result, {
    name: body.jti,
    text: () => `${against === null ? 'valid' : `refused: ${against}`}\n${textOf(found)}`,
  });
  return against === null ? EXIT.ok : EXIT.workloadFailed;
}

const REASONS = {
  'unknown-format': 'it is no ticket of this version',
  malformed: 'it is no ticket of this version',
  'unknown-key': 'its key is none of those',
  'bad-signature': 'its signature is not good, or of another host',
} as const;

function lateness({ notBeforeMs, expiresMs }: ReadTicket['body'], atMs: number): string | null {
  if (atMs < notBeforeMs - CLOCK_TOLERANCE_MS) return `it counts from ${timeOf(notBeforeMs)} on`;
  return atMs > expiresMs + CLOCK_TOLERANCE_MS ? `it counted until ${timeOf(expiresMs)}` : null;
}

/** @throws CliError */
async function ticketIn(file: string): Promise<{ readonly text: string; readonly found: ReadTicket }> {
  const text = (await readText(file, HINT)).trim();
  const found = readTicket(text);
  if (found === null) throw new CliError(EXIT.badSpec, `${file}: it is no ticket of this version`, HINT);
  return { text, found };
}

const HINT = 'moorage ticket inspect < TICKET';

async function pinnedIn(path: string): ReturnType<typeof readPinnedKeys> {
  try {
    return await readPinnedKeys(statSync(path).isDirectory() ? join(path, 'arbiters.public') : path);
  } catch (error) {
    const why = error instanceof Error && error.name === 'KeyFileError' ? error.message : fileFault(error);
    throw new CliError(EXIT.usage, `--keys ${path}: ${why}`, 'moorage keys FOLDER makes such keys', error);
  }
}

function textOf({ body, keyId }: ReadTicket): string {
  const { claim, epoch } = body;
  const { cpuMilli, memoryMib } = claim.resources;
  const lines: readonly (readonly [string, string])[] = [
    ['ticket', body.jti],
    ['key', keyId],
    ['job', `${body.namespace}/${body.job}`],
    ['allocation', claim.id],
    ['host', `${body.aud}, incarnation ${String(body.hostIncarnation)}`],
    ['scheduler', body.scheduler],
    ['epoch', `${epoch.incarnation} ${String(epoch.counter)}`],
    ['claims', `${cores(cpuMilli)} CPU, ${size(memoryMib)}, priority ${String(claim.precedence)}`],
    ['command', `sha256 ${body.commandDigest}`],
    ['counts', `${timeOf(body.notBeforeMs)} to ${timeOf(body.expiresMs)}`],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(10)}  ${value}\n`).join('');
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
