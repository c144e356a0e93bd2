import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Arbiter } from '../../../arbiter/arbiter.ts';
import type { StartTerms, TicketBody } from '../../../src/core/quota/ticket.ts';
import type { TicketGrant } from '../../../src/wire/api/arbiter-api.ts';
import { requestFor } from '../../../src/wire/api/arbiter-api.ts';
import { ArbiterClient } from '../../../src/clients/arbiter-client.ts';
import { allocationCodec } from '../../../src/wire/records/records.ts';
import { allocationOf, ArbiterWorld, CELL, GRANT_HELD_MS, reportOf } from '../../support/arbiter-world.ts';
import { someTerms } from '../../support/tickets.ts';

let world: ArbiterWorld;
beforeEach(async () => {
  world = new ArbiterWorld();
  world.addHost('host-a');
  await world.startMonitor();
});
afterEach(() => world.close());

function terms(n: number, cpuMilli = 400, host = 'host-a'): StartTerms {
  const base = someTerms({ aud: host });
  const id = `01k0000000aaaaaaaaaaaa${String(n).padStart(4, '0')}`;
  const resources = { ...base.claim.resources, cpuMilli };
  return { ...base, claim: { ...base.claim, id, resources, gpus: [], ports: {} } };
}

async function ask(arbiter: Arbiter, ...placements: StartTerms[]): Promise<readonly string[]> {
  const { answers } = await arbiter.tickets({ scheduler: 'service-1', placements });
  return answers.map((answer: TicketGrant) => ('ticket' in answer ? 'granted' : answer.refusal.code));
}

/** An arbiter that waited out what a predecessor may have granted. */
async function seasoned(): Promise<Arbiter> {
  const { arbiter } = await world.startArbiter();
  await world.clock.advance(GRANT_HELD_MS + 2_000);
  return arbiter;
}

describe('Arbiter', () => {
  it('S4.14 signs a ticket for exactly what was asked, for thirty seconds', async () => {
    const { arbiter } = await world.startArbiter();
    const { answers } = await arbiter.tickets({ scheduler: 'service-1', placements: [terms(1)] });
    const [answer] = answers;
    if (answer === undefined || !('ticket' in answer)) return expect.unreachable();
    const { jti, notBeforeMs, expiresMs, ...rest } = JSON.parse(answer.ticket) as TicketBody;
    expect(rest).toEqual(terms(1));
    expect([notBeforeMs, expiresMs - notBeforeMs]).toEqual([world.clock.nowMs(), 30_000]);
    expect(jti).toMatch(/^[0-9a-z]{26}$/);
    expect(answer.expiresMs).toBe(expiresMs);
  });

  it('S4.12 grants a gang whole or not at all, and keeps nothing of one that it refuses', async () => {
    await world.setQuota({ namespace: 'default', cpuMilli: 1_000 });
    const arbiter = await seasoned();
    const placements = [terms(1), terms(2), terms(3), terms(4)];
    const { answers } = await arbiter.tickets({
      ...{ scheduler: 'service-1', placements },
      together: [{ first: 1, count: 3 }],
    });
    expect(answers.map((answer) => ('ticket' in answer ? 'granted' : answer.refusal.code))).toEqual([
      'granted',
      'quota',
      'quota',
      'quota',
    ]);
    expect(arbiter.grants().namespaces).toMatchObject([{ granted: { cpuMilli: 400, allocations: 1 } }]);
    expect(await ask(arbiter, terms(5))).toEqual(['granted']);
  });

  it('S4.12 a gang that is refused gives back nothing that was granted before', async () => {
    await world.setQuota({ namespace: 'default', cpuMilli: 1_000 });
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(1), terms(2))).toEqual(['granted', 'granted']);
    const request = requestFor('service-1', [[terms(1), terms(2), terms(3)]]);
    const { answers } = await arbiter.tickets(request);
    expect(answers.every((answer) => 'refusal' in answer)).toBe(true);
    expect(arbiter.grants().namespaces).toMatchObject([{ granted: { cpuMilli: 800, allocations: 2 } }]);
  });

  it('S4.12 counts grants against the quota at once, and says in numbers why it refuses', async () => {
    await world.setQuota({ namespace: 'default', cpuMilli: 1_000 });
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(1), terms(2), terms(3))).toEqual(['granted', 'granted', 'quota']);
    const { answers } = await arbiter.tickets({ scheduler: 'service-1', placements: [terms(4)] });
    expect(answers[0]).toMatchObject({
      refusal: {
        detail: 'quota of default: cpu 400m asked, 200m left of 1000m (0m used, 800m granted)',
        retryAfterMs: null,
      },
    });
    expect(await ask(arbiter, terms(5, 200))).toEqual(['granted']);
  });

  it('counts what hosts report instead of the grant, and frees it with the release', async () => {
    await world.setQuota({ namespace: 'default', cpuMilli: 1_000 });
    const arbiter = await seasoned();
    await ask(arbiter, terms(1), terms(2));
    world.report(reportOf(terms(1)));
    await world.clock.advance(0);
    const usage = { namespace: 'default', used: { cpuMilli: 400 }, granted: { cpuMilli: 400 } };
    expect(arbiter.grants().namespaces).toMatchObject([usage]);
    world.report(reportOf(terms(1), { state: 'complete' }));
    await world.clock.advance(0);
    expect(await ask(arbiter, terms(3))).toEqual(['quota']);
    world.report(reportOf(terms(1), { state: 'complete', released: true }));
    await world.clock.advance(0);
    expect(await ask(arbiter, terms(3))).toEqual(['granted']);
  });

  it('I41 an unused grant returns after its ticket can have been used unseen, and not before', async () => {
    await world.setQuota({ namespace: 'default', allocations: 1 });
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(1))).toEqual(['granted']);
    await world.clock.advance(GRANT_HELD_MS - 1_000);
    expect(await ask(arbiter, terms(2))).toEqual(['quota']);
    await world.clock.advance(2_001);
    expect(await ask(arbiter, terms(2), terms(3))).toEqual(['granted', 'quota']);
  });

  it('I41 where monitors wait longer for a host, an unused grant is held longer too', async () => {
    await world.setQuota({ namespace: 'default', allocations: 1 });
    world.hostSilenceMs = 40_000;
    const arbiter = await seasoned();
    await world.clock.advance(40_000);
    expect(await ask(arbiter, terms(1))).toEqual(['granted']);
    await world.clock.advance(GRANT_HELD_MS + 36_000);
    expect(await ask(arbiter, terms(2))).toEqual(['quota']);
    await world.clock.advance(2_001);
    expect(await ask(arbiter, terms(2))).toEqual(['granted']);
  });

  it('I40 a grant on a host that fell silent stays held: it may run there unseen', async () => {
    await world.setQuota({ namespace: 'default', allocations: 1 });
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(1))).toEqual(['granted']);
    world.silence('host-a');
    await world.clock.advance(3 * GRANT_HELD_MS);
    expect(await ask(arbiter, terms(2))).toEqual(['quota']);
    world.silent.clear();
    await world.clock.advance(2_000);
    expect(await ask(arbiter, terms(2))).toEqual(['granted']);
  });

  it('I40 the beginning of a stream of another monitor does not make a silent host a reporting one', async () => {
    await world.setQuota({ namespace: 'default', allocations: 1 });
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(1))).toEqual(['granted']);
    world.silence('host-a');
    await world.clock.advance(3 * GRANT_HELD_MS);
    const goOn = world.cutStreams();
    await world.clock.advance(10_000);
    expect(await ask(arbiter, terms(2))).toEqual(['view-incomplete']);
    goOn();
    await world.clock.advance(2_000);
    expect(await ask(arbiter, terms(2))).toEqual(['quota']);
  });

  it('asking twice for the same allocation holds it once', async () => {
    await world.setQuota({ namespace: 'default', allocations: 2 });
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(1), terms(1), terms(2), terms(1))).toEqual(Array(4).fill('granted'));
    world.report(reportOf(terms(1)));
    await world.clock.advance(0);
    expect(await ask(arbiter, terms(1), terms(3))).toEqual(['granted', 'quota']);
  });

  it('S4.18 a quota that began before any arbiter waits until tickets that were not recorded have ended, others not', async () => {
    await world.setQuota({ namespace: 'default', allocations: 5 });
    const { arbiter } = await world.startArbiter();
    expect(await ask(arbiter, terms(1), { ...terms(2), namespace: 'free' })).toEqual(['starting', 'granted']);
    await world.clock.advance(GRANT_HELD_MS + 2_000);
    expect(await ask(arbiter, terms(1))).toEqual(['granted']);
  });

  it('S4.18 of two arbiters one keeps the quotas; the other follows when its session is gone', async () => {
    await world.setQuota({ namespace: 'default', allocations: 1 });
    const first = await world.startArbiter('arbiter-1');
    const second = await world.startArbiter('arbiter-2');
    await world.clock.advance(GRANT_HELD_MS + 2_000);
    expect(await ask(first.arbiter, terms(1))).toEqual(['granted']);
    expect(await ask(second.arbiter, terms(2))).toEqual(['standby']);
    const client = new ArbiterClient(world.network.client());
    const asked = client.tickets([second.address, first.address], 'service-1', [[terms(1)], [terms(3)]]);
    expect((await asked).flat().map((outcome) => Object.keys(outcome).sort())).toEqual([
      ['expiresMs', 'id', 'ticket'],
      ['id', 'refusal'],
    ]);
    await first.arbiter.close();
    await world.clock.advance(100);
    // What the first one granted was in the store before its ticket went out.
    expect(await ask(second.arbiter, terms(2))).toEqual(['quota']);
    await world.clock.advance(GRANT_HELD_MS + 2_000);
    expect(await ask(second.arbiter, terms(2))).toEqual(['granted']);
  });

  it('S4.18 I40 a successor counts what was committed to a silent host, which it cannot see running', async () => {
    await world.setQuota({ namespace: 'default', allocations: 1 });
    world.addHost('host-b');
    const unseen = allocationOf(terms(1, 400, 'host-b'));
    await world.put(CELL.allocation('default', unseen.job, unseen.id), allocationCodec.encode(unseen));
    world.silence('host-b');
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(2))).toEqual(['quota']);
    world.silent.clear();
    await world.clock.advance(8_000);
    expect(await ask(arbiter, terms(2))).toEqual(['granted']);
  });

  it('the first quota of a namespace counts at once when nothing of other arbiters is outstanding there, else then', async () => {
    const arbiter = await seasoned();
    await world.setQuota({ namespace: 'default', allocations: 1 });
    await world.clock.advance(0);
    expect(await ask(arbiter, terms(1), terms(2))).toEqual(['granted', 'quota']);
    const { arbiter: second } = await world.startArbiter('arbiter-2');
    const [early, next] = [terms(3), terms(4)].map((one) => ({ ...one, namespace: 'other' }));
    if (early === undefined || next === undefined) return expect.unreachable();
    expect(await ask(second, early)).toEqual(['granted']);
    await world.setQuota({ namespace: 'other', allocations: 2 });
    await world.clock.advance(1_500);
    expect(await ask(second, next)).toEqual(['standby']);
    expect(await ask(arbiter, next)).toEqual(['starting']);
    world.report(reportOf(early));
    await world.clock.advance(1_500);
    expect(await ask(arbiter, next, { ...terms(5), namespace: 'other' })).toEqual(['granted', 'quota']);
  });

  it('what an arbiter granted before the first quota of a namespace, and before its own end, is waited for', async () => {
    const arbiter = await seasoned();
    const { arbiter: second } = await world.startArbiter('arbiter-2');
    expect(await ask(second, terms(1))).toEqual(['granted']);
    await second.close();
    await world.clock.advance(0);
    await world.setQuota({ namespace: 'default', allocations: 1 });
    await world.clock.advance(1_500);
    expect(await ask(arbiter, terms(2))).toEqual(['starting']);
    await world.clock.advance(GRANT_HELD_MS);
    expect(await ask(arbiter, terms(2))).toEqual(['granted']);
  });

  it('S3.59 gives nothing while an operator pauses placement, in the cell or where it would be', async () => {
    const { arbiter } = await world.startArbiter();
    const { aud, namespace, job } = terms(1);
    for (const scope of [{}, { namespace }, { namespace, job }, { host: aud }]) {
      await world.setPause(scope);
      await world.clock.advance(0);
      expect(await ask(arbiter, terms(1))).toEqual(['paused']);
      await world.setPause({ ...scope, endedAtMs: 1 });
      await world.setPause({ ...scope, what: 'eviction' });
      await world.setPause({ namespace: 'other' });
      await world.clock.advance(0);
      expect(await ask(arbiter, terms(1))).toEqual(['granted']);
    }
  });

  it('a quota that cannot be read gives nothing, rather than everything', async () => {
    await world.put(CELL.quota('default'), '{"v":1,"cpuMilli":"many"}');
    const arbiter = await seasoned();
    expect(await ask(arbiter, terms(1))).toEqual(['quota']);
  });

  it('S4.2 without a whole view nothing is granted where a quota would have to be known', async () => {
    const alone = new ArbiterWorld();
    await alone.setQuota({ namespace: 'default', allocations: 9 });
    const { arbiter } = await alone.startArbiter();
    await alone.clock.advance(GRANT_HELD_MS + 2_000);
    expect(await ask(arbiter, terms(1))).toEqual(['view-incomplete']);
    expect(arbiter.missing).toEqual(['view']);
    await alone.close();
  });

  it('refuses requests for another scheduler, of too many placements, and of broken ones, naming the place', async () => {
    const { address } = await world.startArbiter();
    const http = world.network.client();
    const post = async (body: unknown) =>
      (await http.call({ method: 'POST', url: `${address}/v1/tickets`, body, timeoutMs: 1_000 })).body;
    const other = { ...terms(2), scheduler: 'service-2' };
    expect(await post({ scheduler: 'service-1', placements: [terms(1), other] })).toMatchObject({
      status: 403,
      path: 'placements.1.scheduler',
    });
    expect(await post({ scheduler: 'service-1', placements: Array(257).fill(terms(1)) })).toMatchObject({
      status: 400,
    });
    const broken = { ...terms(1), hostIncarnation: -1 };
    expect(await post({ scheduler: 'service-1', placements: [broken] })).toMatchObject({
      path: 'placements.0.hostIncarnation',
    });
  });
});
