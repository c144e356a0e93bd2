import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { HashTree, leafOf } from '../../../../src/adapters/tickets/hash-tree.ts';
import { signToken } from '../../../../src/adapters/tickets/paseto.ts';
import { ticketSigner, ticketVerifier } from '../../../../src/adapters/tickets/tickets.ts';
import type { TicketBody } from '../../../../src/core/quota/ticket.ts';
import { ticketContract } from '../../../contract/tickets.ts';
import { OTHER_KEYS, TICKET_KEYS } from '../../../support/ticket-keys.ts';
import { someTicket } from '../../../support/tickets.ts';

const signer = ticketSigner(TICKET_KEYS.signing);
const verifierOf = () => ticketVerifier([TICKET_KEYS.pinned]);

ticketContract('Ed25519 and a hash tree', () => ({ signer, verifier: verifierOf() }));

const bodies = (count: number, first = 0): TicketBody[] =>
  Array.from({ length: count }, (_, n) => someTicket({ jti: `t${String(first + n)}` }));

/** The parts of a ticket: head, position, path, body, and the token of the root. */
const partsOf = (ticket: string): string[] => {
  const [head = '', position = '', path = '', body = '', ...token] = ticket.split('.');
  return [head, position, path, body, token.join('.')];
};
const withPart = (ticket: string, part: number, text: string): string =>
  partsOf(ticket)
    .map((own, at) => (at === part ? text : own))
    .join('.');
const [POSITION, PATH, BODY, ROOT] = [1, 2, 3, 4];

const isValid = async (ticket: string, host = 'host-a', incarnation = 3): Promise<boolean> =>
  (await verifierOf().verify(ticket, host, incarnation)).valid;

/** A ticket whose only leaf is this text, signed as an arbiter signs. */
function signedAlone(text: string, changes: { message?: unknown; assertion?: string } = {}): string {
  const body = Buffer.from(text).toString('base64url');
  const { root } = new HashTree([leafOf(`["moorage-ticket","host-a",3]\n${body}`)]);
  const message = changes.message ?? { root: root.toString('base64url'), tickets: 1 };
  const { id, secret } = TICKET_KEYS.signing;
  const token = signToken(
    secret,
    { message: JSON.stringify(message), footer: id },
    changes.assertion ?? '["moorage-ticket-root"]',
  );
  return ['moorage-ticket-2', '0', '', body, token].join('.');
}

describe('tickets signed many at a time', () => {
  it('are as documented, so that another implementation can write and read them', async () => {
    const [ticket = ''] = await signer.sign([someTicket()]);
    expect(signedAlone(JSON.stringify(someTicket()))).toBe(ticket);
    const [head, position, path, body, token] = partsOf(ticket);
    expect([head, position, path]).toEqual(['moorage-ticket-2', '0', '']);
    expect(JSON.parse(Buffer.from(body!, 'base64url').toString())).toEqual(someTicket());
    expect(token).toMatch(/^v4\.public\./);
  });

  it('carry one signature for all of a request, and a path of a hash for each level', async () => {
    const tickets = await signer.sign(bodies(256));
    expect(new Set(tickets.map((ticket) => partsOf(ticket)[ROOT])).size).toBe(1);
    expect(new Set(tickets.map((ticket) => Buffer.from(partsOf(ticket)[PATH]!, 'base64url').length))).toEqual(
      new Set([8 * 32]),
    );
  });

  it('I37 I38 I44 an altered, truncated, extended or exchanged part makes a ticket worthless', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }).chain((count) =>
          fc.record({
            count: fc.constant(count),
            at: fc.nat(count - 1),
            other: fc.nat(count - 1),
            part: fc.constantFrom(POSITION, PATH, BODY, ROOT),
            place: fc.nat(),
            char: fc.constantFrom(...'AZaz09-_.=+/ \n'),
            cut: fc.integer({ min: 1, max: 90 }),
          }),
        ),
        async ({ count, at, other, part, place, char, cut }) => {
          const tickets = await signer.sign(bodies(count));
          const [foreign = ''] = (await signer.sign(bodies(count, 100))).slice(at);
          const ticket = tickets[at]!;
          const own = partsOf(ticket)[part]!;
          expect(await isValid(ticket)).toBe(true);
          const wrong = [
            own.slice(0, Math.max(0, own.length - cut)),
            own.slice(cut),
            own + char,
            char + own,
            own + own,
            own.slice(0, place % (own.length + 1)) + char + own.slice((place % (own.length + 1)) + 1),
            partsOf(tickets[other]!)[part]!,
            partsOf(foreign)[part]!,
          ].filter((text) => text !== own);
          for (const text of wrong) expect(await isValid(withPart(ticket, part, text)), text).toBe(false);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('I38 no other spelling of a ticket verifies: any altered character is refused', async () => {
    const ticket = (await signer.sign(bodies(5)))[3]!;
    const verifier = verifierOf();
    // Its root is known by now, which must make nothing else good.
    expect((await verifier.verify(ticket, 'host-a', 3)).valid).toBe(true);
    await fc.assert(
      fc.asyncProperty(fc.nat(ticket.length - 1), fc.constantFrom(...'AZaz09-_.=+/ \n'), async (at, char) => {
        fc.pre(ticket[at] !== char);
        const altered = ticket.slice(0, at) + char + ticket.slice(at + 1);
        expect((await verifier.verify(altered, 'host-a', 3)).valid).toBe(false);
      }),
      { numRuns: 500 },
    );
    for (const other of [
      `${ticket}=`,
      `${ticket}.`,
      `${ticket}.AA`,
      ` ${ticket}`,
      `${ticket}\n`,
      ticket.toUpperCase(),
    ])
      expect((await verifier.verify(other, 'host-a', 3)).valid).toBe(false);
  });

  it('I37 a body moved to the place of another host, or of another incarnation, verifies nowhere', async () => {
    const [here = '', there = '', later = ''] = await signer.sign([
      someTicket({ jti: 't1' }),
      someTicket({ jti: 't2', aud: 'host-b' }),
      someTicket({ jti: 't3', hostIncarnation: 4 }),
    ]);
    const moved = withPart(there, BODY, partsOf(here)[BODY]!);
    const aged = withPart(later, BODY, partsOf(here)[BODY]!);
    for (const ticket of [moved, aged, there, later]) expect(await isValid(ticket)).toBe(false);
    expect([await isValid(there, 'host-b'), await isValid(later, 'host-a', 4)]).toEqual([true, true]);
    for (const [host, incarnation] of [
      ['host-b', 3],
      ['host-a', 4],
    ] as const)
      expect([await isValid(moved, host, incarnation), await isValid(aged, host, incarnation)]).toEqual([
        false,
        false,
      ]);
  });

  it('I42 a key that is not pinned is unknown, whatever it signed', async () => {
    const { secret } = OTHER_KEYS.signing;
    const [named = ''] = await ticketSigner(OTHER_KEYS.signing).sign([someTicket()]);
    const [disguised = ''] = await ticketSigner({ id: TICKET_KEYS.pinned.id, secret }).sign([someTicket()]);
    expect(await verifierOf().verify(named, 'host-a', 3)).toEqual({ valid: false, reason: 'unknown-key' });
    expect(await verifierOf().verify(disguised, 'host-a', 3)).toMatchObject({ reason: 'bad-signature' });
  });

  it('what the key signed for another purpose is no root, and a root of another shape is malformed', async () => {
    const text = JSON.stringify(someTicket());
    const reasonOf = async (ticket: string) => verifierOf().verify(ticket, 'host-a', 3);
    for (const assertion of ['', '["moorage-ticket","host-a",3]', '["moorage-ticket-root"] '])
      expect(await reasonOf(signedAlone(text, { assertion }))).toMatchObject({ reason: 'bad-signature' });
    const { root } = new HashTree([leafOf('x')]);
    const good = { root: root.toString('base64url'), tickets: 1 };
    for (const message of [
      {},
      [good],
      { ...good, tickets: 0 },
      { ...good, tickets: 1.5 },
      { ...good, tickets: 70_000 },
      { ...good, root: good.root.slice(1) },
      { ...good, onlyOnSundays: true },
      someTicket(),
    ])
      expect(await reasonOf(signedAlone(text, { message })), JSON.stringify(message)).toEqual({
        valid: false,
        reason: 'malformed',
      });
    expect(await reasonOf(signedAlone(text, { message: good }))).toMatchObject({ reason: 'bad-signature' });
  });

  it('a signed body that is no ticket of this version is malformed, not half understood', async () => {
    const listed = { ...someTicket(), aud: ['host-a', 'host-b'] };
    const further = { ...someTicket(), onlyOnSundays: true };
    const fraction = { ...someTicket(), expiresMs: 1.5 };
    for (const body of [listed, further, fraction, {}, null, 'text'])
      expect(await verifierOf().verify(signedAlone(JSON.stringify(body)), 'host-a', 3)).toEqual({
        valid: false,
        reason: 'malformed',
      });
    expect(await verifierOf().verify(signedAlone('no JSON'), 'host-a', 3)).toMatchObject({
      reason: 'malformed',
    });
  });

  it('a ticket of the format before this one, a token by itself, is refused by its format', async () => {
    const { id, secret } = TICKET_KEYS.signing;
    const token = { message: JSON.stringify(someTicket()), footer: id };
    const old = signToken(secret, token, '["moorage-ticket","host-a",3]');
    for (const ticket of [old, 'moorage-ticket-1.0', 'moorage-ticket-3.0', 'moorage-ticket-2'])
      expect(await verifierOf().verify(ticket, 'host-a', 3)).toEqual({
        valid: false,
        reason: 'unknown-format',
      });
    const long = `moorage-ticket-2.${'a'.repeat(20_000)}`;
    expect(await verifierOf().verify(long, 'host-a', 3)).toEqual({ valid: false, reason: 'malformed' });
  });

  it('the roots that a host keeps are bounded, and one that was dropped is verified again', async () => {
    const verifier = verifierOf();
    const [first = ''] = await signer.sign([someTicket({ jti: 'first' })]);
    expect((await verifier.verify(first, 'host-a', 3)).valid).toBe(true);
    for (let n = 0; n < 600; n++) {
      const [ticket = ''] = await signer.sign([someTicket({ jti: `t${String(n)}` })]);
      expect((await verifier.verify(ticket, 'host-a', 3)).valid).toBe(true);
    }
    expect((await verifier.verify(first, 'host-a', 3)).valid).toBe(true);
    expect((await verifier.verify(withPart(first, PATH, 'AAAA'), 'host-a', 3)).valid).toBe(false);
  });
});
