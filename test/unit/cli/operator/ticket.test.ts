import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectTicket, verifyTicket } from '../../../../cli/operator/ticket.ts';
import { makeKeyFiles, readSigningKey } from '../../../../src/adapters/tickets/key-files.ts';
import { ticketSigner } from '../../../../src/adapters/tickets/tickets.ts';
import { someTerms, someTicket } from '../../../support/tickets.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-ticket-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const AT_MS = Date.parse('2026-01-31T12:00:00Z');
const body = someTicket({ ...someTerms({ aud: 'h1' }), notBeforeMs: AT_MS, expiresMs: AT_MS + 30_000 });

async function signed() {
  const keys = join(folder, 'keys');
  const { signingKeyFile } = await makeKeyFiles(keys);
  const [ticket = ''] = await ticketSigner(await readSigningKey(signingKeyFile)).sign([body, body]);
  const file = join(folder, 'ticket');
  writeFileSync(file, `${ticket}\n`);
  return { keys, file, ticket, ...fakeContext(new FakeHttp({}), ['http://unused']) };
}

describe('tickets as files', () => {
  it('a ticket says what it allows, with nobody asked', async () => {
    const { context, terminal, file } = await signed();
    expect(await inspectTicket(context, file)).toBe(0);
    for (const part of [
      body.jti,
      `${body.namespace}/${body.job}`,
      'h1, incarnation',
      '2026-01-31T12:00:30.000Z',
    ])
      expect(terminal.stdout).toContain(part);
  });

  it('is verified by the public key, host and time', async () => {
    const { context, terminal, file, keys } = await signed();
    const at = '2026-01-31T12:00:10Z';
    expect(await verifyTicket(context, file, { keys, at })).toBe(0);
    expect(await verifyTicket(context, file, { keys: join(keys, 'arbiters.public'), at })).toBe(0);
    expect(await verifyTicket(context, file, { keys, at, host: 'h2' })).toBe(1);
    expect(await verifyTicket(context, file, { keys, at: '2026-01-31T12:01:00Z' })).toBe(1);
    expect(await verifyTicket(context, file, { keys, at: '2026-01-31T11:00:00Z' })).toBe(1);
    const said = terminal.stdout.split('\n').filter((line) => /^(valid|refused)/.test(line));
    expect(said.map((line) => line.slice(0, 30))).toEqual([
      ...['valid', 'valid', 'refused: its signature is not ', 'refused: it counted until 2026'],
      'refused: it counts from 2026-0',
    ]);
  });

  it('one changed letter, or another key, and it is refused', async () => {
    const { context, file, keys, ticket } = await signed();
    const at = '2026-01-31T12:00:10Z';
    const [head = '', position = '', path = '', text = '', ...token] = ticket.split('.');
    const other = Buffer.from(JSON.stringify({ ...body, job: 'other' })).toString('base64url');
    expect(text).not.toBe(other);
    writeFileSync(file, [head, position, path, other, ...token].join('.'));
    expect(await verifyTicket(context, file, { keys, at })).toBe(1);
    writeFileSync(file, ticket);
    const strange = join(folder, 'strange');
    await makeKeyFiles(strange);
    expect(readFileSync(join(strange, 'arbiters.public'))).not.toEqual(
      readFileSync(join(keys, 'arbiters.public')),
    );
    expect(await verifyTicket(context, file, { keys: strange, at })).toBe(1);
    writeFileSync(file, 'no ticket');
    await expect(inspectTicket(context, file)).rejects.toThrow('no ticket of this version');
  });
});
