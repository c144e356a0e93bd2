import { describe, expect, it } from 'vitest';
import type { TicketSigner, TicketVerifier } from '../../src/ports/crypto.ts';
import { someTicket } from '../support/tickets.ts';

export interface TicketsUnderTest {
  readonly signer: TicketSigner;
  /** Trusts that signer. */
  readonly verifier: TicketVerifier;
}

/** What every signer and its verifier must do, in whatever way they do it. */
export function ticketContract(name: string, open: () => TicketsUnderTest): void {
  describe(`ticket contract: ${name}`, () => {
    const bodies = (count: number) =>
      Array.from({ length: count }, (_, n) => someTicket({ jti: `t${String(n)}`, job: `job-${String(n)}` }));

    it('signs nothing when nothing is asked for', async () => {
      expect(await open().signer.sign([])).toEqual([]);
    });

    it.each([1, 2, 3, 8, 255, 256])(
      'of %i tickets signed together each comes back by itself, in their order',
      async (count) => {
        const { signer, verifier } = open();
        const tickets = await signer.sign(bodies(count));
        expect(tickets).toHaveLength(count);
        expect(new Set(tickets).size).toBe(count);
        for (const [n, ticket] of tickets.entries())
          expect(await verifier.verify(ticket, 'host-a', 3)).toEqual({ valid: true, body: bodies(count)[n] });
      },
    );

    it('tickets of one request may be for different hosts, and each is good at its own alone', async () => {
      const { signer, verifier } = open();
      const hosts = ['host-a', 'host-b', 'host-c'];
      const tickets = await signer.sign(hosts.map((aud) => someTicket({ aud })));
      for (const [n, ticket] of tickets.entries())
        for (const host of hosts)
          expect((await verifier.verify(ticket, host, 3)).valid, `${host} ${String(n)}`).toBe(
            host === hosts[n],
          );
    });

    it('I37 S4.16 a ticket for one host and incarnation verifies for no other', async () => {
      const { signer, verifier } = open();
      const [ticket = ''] = await signer.sign([someTicket()]);
      for (const [host, incarnation] of [
        ['host-b', 3],
        ['host-a', 4],
        ['host-a', 2],
        ['host-', 3],
        ['host-a3', 3],
      ] as const)
        expect(await verifier.verify(ticket, host, incarnation)).toEqual({
          valid: false,
          reason: 'bad-signature',
        });
    });

    it('I44 what is no ticket is refused, with the reason', async () => {
      const { verifier } = open();
      for (const text of ['', 'ticket', '{}', ' '])
        expect(await verifier.verify(text, 'host-a', 3)).toEqual({ valid: false, reason: 'unknown-format' });
    });
  });
}
