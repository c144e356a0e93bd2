import { describe, expect, it } from 'vitest';
import { MemoryNetwork } from '../../support/memory-network.ts';
import { ArbiterClient } from '../../../src/clients/arbiter-client.ts';
import type { StartTerms } from '../../../src/core/quota/ticket.ts';
import type { GrantRefusalCode, TicketGrant, TicketRequest } from '../../../src/wire/api/arbiter-api.ts';
import { PLACEMENTS_MAX } from '../../../src/wire/api/arbiter-api.ts';
import { someTerms } from '../../support/tickets.ts';

const network = new MemoryNetwork();
const client = new ArbiterClient(network.client());

/** An arbiter that answers each placement alike, and remembers how many it was asked about. */
async function arbiter(answer: 'ticket' | GrantRefusalCode): Promise<{ address: string; asked: number[] }> {
  const asked: number[] = [];
  const grant = ({ claim: { id } }: StartTerms): TicketGrant =>
    answer === 'ticket'
      ? { id, ticket: 't', expiresMs: 1 }
      : { id, refusal: { code: answer, detail: '', retryAfterMs: null } };
  const { address } = await network.server().listen(
    [
      {
        method: 'POST',
        path: '/v1/tickets',
        right: 'read',
        handle: async ({ body }) => {
          const { placements } = body as TicketRequest;
          asked.push(placements.length);
          return { status: 200, body: { answers: placements.map(grant) } };
        },
      },
    ],
    { host: '127.0.0.1', port: 0, bodyBytesMax: 2 ** 20 },
  );
  return { address, asked };
}

const GONE = 'http://memory/99999';

function kindOf(outcome: object): string {
  if ('refusal' in outcome) return (outcome as { refusal: { code: string } }).refusal.code;
  return 'ticket' in outcome ? 'ticket' : 'unanswered';
}

async function ask(addresses: readonly string[], count = 1): Promise<readonly string[]> {
  const placements = Array.from({ length: count }, (_, n) => {
    const terms = someTerms();
    return { ...terms, claim: { ...terms.claim, id: `a${String(n)}` } };
  });
  const units = placements.map((terms) => [terms]);
  const outcomes = (await client.tickets(addresses, 'service-1', units)).flat();
  expect(outcomes.map(({ id }) => id)).toEqual(placements.map(({ claim }) => claim.id));
  return [...new Set(outcomes.map(kindOf))];
}

describe('ArbiterClient', () => {
  it('asks the next arbiter while one cannot decide, and stops where one did', async () => {
    const [standby, keeper, last] = [
      await arbiter('standby'),
      await arbiter('ticket'),
      await arbiter('quota'),
    ];
    expect(await ask([GONE, standby.address, keeper.address, last.address])).toEqual(['ticket']);
    expect(last.asked).toEqual([]);
    const full = await arbiter('quota');
    expect(await ask([full.address, keeper.address])).toEqual(['quota']);
  });

  it('of several that cannot decide, the one with a reason wins', async () => {
    const [standby, starting] = [await arbiter('standby'), await arbiter('starting')];
    expect(await ask([starting.address, standby.address, GONE])).toEqual(['starting']);
    expect(await ask([standby.address, starting.address])).toEqual(['starting']);
    expect(await ask([GONE])).toEqual(['unanswered']);
    expect(await ask([])).toEqual(['unanswered']);
  });

  it('cuts large plans into requests that an arbiter takes', async () => {
    const keeper = await arbiter('ticket');
    expect(await ask([keeper.address], 2 * PLACEMENTS_MAX + 3)).toEqual(['ticket']);
    expect(keeper.asked).toEqual([PLACEMENTS_MAX, PLACEMENTS_MAX, 3]);
  });

  it('keeps what is granted together in one request, but for what no request takes', async () => {
    const keeper = await arbiter('ticket');
    const gang = (size: number): readonly StartTerms[] => Array.from({ length: size }, () => someTerms());
    const units = [gang(1), gang(PLACEMENTS_MAX - 1), gang(2), gang(PLACEMENTS_MAX + 1)];
    const outcomes = await client.tickets([keeper.address], 'service-1', units);
    expect(outcomes.map(({ length }) => length)).toEqual(units.map(({ length }) => length));
    expect(keeper.asked).toEqual([PLACEMENTS_MAX, 2, PLACEMENTS_MAX, 1]);
  });
});
