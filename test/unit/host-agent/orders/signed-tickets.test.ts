import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { ticketSigner, ticketVerifier } from '../../../../src/adapters/tickets/tickets.ts';
import { canonicalJson } from '../../../../src/core/json/canonical-json.ts';
import type { TicketBody } from '../../../../src/core/quota/ticket.ts';
import { claimOf } from '../../../../src/core/quota/ticket.ts';
import type { StartRequest } from '../../../../src/wire/api/host-api.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { someStart } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { OTHER_KEYS, TICKET_KEYS } from '../../../support/ticket-keys.ts';

const signer = ticketSigner(TICKET_KEYS.signing);

async function openHost(): Promise<HostWorld> {
  const world = new HostWorld();
  await world.open({ verifier: ticketVerifier([TICKET_KEYS.pinned]), digest: sha256Hex });
  return world;
}

function bodyFor(world: HostWorld, { allocation, launch }: StartRequest): TicketBody {
  return {
    jti: `t-${allocation.id}`,
    ...{ aud: 'host-a', hostIncarnation: world.agent.host.incarnation },
    notBeforeMs: world.clock.nowMs(),
    expiresMs: world.clock.nowMs() + 30_000,
    ...{ namespace: allocation.namespace, job: allocation.job, scheduler: allocation.scheduler },
    ...{ epoch: allocation.epoch, claim: claimOf(allocation) },
    commandDigest: sha256Hex(canonicalJson(launch)),
  };
}

/** The code and the text with which the host answers. */
async function answer(world: HostWorld, order: StartRequest, ticket: string): Promise<string> {
  try {
    await world.agent.start({ ...order, ticket });
    return 'started';
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return `${error.problem.code}: ${error.problem.detail}`;
  }
}

/** Tickets for the order among others, as one request gives them. @returns the one at this position */
async function signedAmong(body: TicketBody, count: number, position: number): Promise<string> {
  const bodies = Array.from({ length: count }, (_, n) =>
    n === position ? body : { ...body, jti: `other-${String(n)}`, aud: `host-${String(n)}` },
  );
  return (await signer.sign(bodies))[position]!;
}

describe('a start with a ticket that was signed among others', () => {
  it('I36 I37 I39 I44 each bad ticket has its own refusal, and nothing is started', async () => {
    const world = await openHost();
    const order = someStart();
    const body = bodyFor(world, order);
    const nowMs = world.clock.nowMs();
    const elsewhere = { ...body, claim: { ...body.claim, host: 'host-b' } };
    const refusals: readonly [string, Partial<TicketBody>][] = [
      ['ticket-other-host', elsewhere],
      ['ticket-invalid', { notBeforeMs: nowMs + 2_001 }],
      ['ticket-expired', { expiresMs: nowMs - 2_001 }],
      ['ticket-other-request', { scheduler: 'batch-1' }],
      ['ticket-other-request', { namespace: 'other' }],
      ['ticket-other-request', { commandDigest: 'ab'.repeat(32) }],
      ['ticket-other-request', { claim: { ...body.claim, ports: { http: 20_001 } } }],
      ['ticket-other-request', { epoch: { ...body.epoch, counter: body.epoch.counter + 1 } }],
    ];
    for (const [code, changes] of refusals) {
      const ticket = await signedAmong({ ...body, ...changes }, 7, 4);
      expect(await answer(world, order, ticket)).toMatch(`${code}: the ticket does not permit this start`);
    }
    // Its host is part of what was signed: such a ticket cannot even be verified here.
    for (const changes of [{ aud: 'host-b' }, { hostIncarnation: body.hostIncarnation + 1 }])
      expect(await answer(world, order, await signedAmong({ ...body, ...changes }, 7, 4))).toBe(
        'ticket-invalid: the ticket is not valid here: bad-signature',
      );
    const stranger = ticketSigner(OTHER_KEYS.signing);
    expect(await answer(world, order, (await stranger.sign([body]))[0]!)).toBe(
      'ticket-invalid: the ticket is not valid here: unknown-key',
    );
    const [, , , , ...token] = (await signedAmong(body, 7, 4)).split('.');
    expect(await answer(world, order, token.join('.'))).toBe(
      'ticket-invalid: the ticket is not valid here: unknown-format',
    );
    expect(world.agent.listing().allocations).toEqual([]);
    expect(await answer(world, order, await signedAmong(body, 7, 4))).toBe('started');
  });

  it('I38 a ticket starts one thing once, whatever other path leads to its body', async () => {
    const world = await openHost();
    const order = someStart();
    const body = bodyFor(world, order);
    expect(await answer(world, order, await signedAmong(body, 3, 2))).toBe('started');
    const other = someStart();
    const again = { ...bodyFor(world, other), jti: body.jti };
    for (const [count, position] of [
      [1, 0],
      [200, 111],
    ] as const)
      expect(await answer(world, other, await signedAmong(again, count, position))).toMatch(/^ticket-used:/);
    expect(await answer(world, order, await signedAmong(body, 9, 1))).toBe('started');
    expect(world.agent.listing().allocations).toHaveLength(1);
  });

  it('I44 no alteration of a good ticket starts anything', async () => {
    const world = await openHost();
    const order = someStart();
    const ticket = await signedAmong(bodyFor(world, order), 5, 3);
    await fc.assert(
      fc.asyncProperty(fc.nat(ticket.length - 1), fc.constantFrom(...'AZaz09-_.'), async (at, char) => {
        fc.pre(ticket[at] !== char);
        const altered = ticket.slice(0, at) + char + ticket.slice(at + 1);
        expect(await answer(world, order, altered)).toMatch(/^ticket-invalid:/);
        expect(await answer(world, order, ticket.slice(0, at))).toMatch(/^ticket-invalid:/);
      }),
      { numRuns: 300 },
    );
    expect(world.agent.listing().allocations).toEqual([]);
    expect(world.processes.running).toEqual([]);
    expect(await answer(world, order, ticket)).toBe('started');
  });
});
