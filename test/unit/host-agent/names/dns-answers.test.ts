import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerDns, DNS_TTL } from '../../../../host-agent/names/dns-answers.ts';
import { KnownNames } from '../../../../host-agent/names/names.ts';
import { systemRandom } from '../../../../src/adapters/system/system.ts';
import type { Endpoint } from '../../../../src/core/names/endpoints.ts';
import type { DnsAnswer } from '../../../../src/ports/dns.ts';
import { endpoint } from '../../../support/endpoints.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const NAME = 'http.web.shop.default';
const KEPT_MS = 60_000;

interface World {
  readonly clock: ManualClock;
  readonly names: KnownNames;
  readonly over: Set<string>;
  readonly ask: (type: string, name?: string) => Promise<DnsAnswer>;
}

/** @param endpoints null: there is no such port */
function world(endpoints: readonly Endpoint[] | null, name = NAME): World {
  const clock = new ManualClock();
  const over = new Set<string>();
  const names = new KnownNames({ clock, keptMs: KEPT_MS, isOver: ({ allocation }) => over.has(allocation) });
  names.pin(name);
  names.tell({ kind: 'name', name, known: endpoints !== null, endpoints: endpoints ?? [] });
  names.heard();
  const source = { random: systemRandom, ask: (asked: string) => names.ask(asked) };
  const ask = (type: string, asked = `${name}.moorage`): Promise<DnsAnswer> =>
    answerDns(source, { name: asked, type });
  return { clock, names, over, ask };
}

const dataOf = ({ answers }: DnsAnswer): unknown[] => answers.map(({ data }) => data);

describe('answers over DNS', () => {
  it('S0.30: A, AAAA and SRV tell the addresses and ports of who serves, with a TTL of a second', async () => {
    const { ask } = world([endpoint(0), endpoint(1, { address: '2001:db8::1' })]);
    expect(dataOf(await ask('A'))).toEqual(['10.0.0.1']);
    expect(dataOf(await ask('AAAA'))).toEqual(['2001:db8::1']);
    const service = await ask('SRV', `_http._tcp.web.shop.default.moorage`);
    expect(new Set(dataOf(service))).toEqual(
      new Set([
        { target: '0a000001.addr.moorage', port: 8000 },
        { target: '20010db8000000000000000000000001.addr.moorage', port: 8001 },
      ]),
    );
    expect(service.additionals?.map(({ data }) => data).sort()).toEqual(['10.0.0.1', '2001:db8::1']);
    expect([...service.answers, ...(service.additionals ?? [])].map(({ ttl }) => ttl)).toEqual(
      Array(4).fill(DNS_TTL),
    );
    expect(dataOf(await ask('A', '0a000001.addr.moorage'))).toEqual(['10.0.0.1']);
    expect(dataOf(await ask('AAAA', '20010db8000000000000000000000001.addr.moorage'))).toEqual([
      '2001:0db8:0000:0000:0000:0000:0000:0001',
    ]);
  });

  it('S0.30: a name of nothing is NXDOMAIN, one that nobody serves is not; other zones are refused', async () => {
    const nobody = world([]);
    const authority = { zone: 'moorage', ttl: DNS_TTL };
    expect(await nobody.ask('A')).toEqual({ code: 'ok', answers: [], authority });
    expect(await nobody.ask('MX')).toMatchObject({ code: 'ok', answers: [] });
    expect(await world(null).ask('A')).toEqual({ code: 'no-such-name', answers: [], authority });
    for (const name of ['a.b.c.d.e.moorage', 'Ä.web.shop.default.moorage', 'zz.addr.moorage'])
      expect(await nobody.ask('A', name)).toMatchObject({ code: 'no-such-name' });
    for (const name of ['moorage', 'default.moorage', '_tcp.web.shop.default.moorage', 'addr.moorage'])
      expect(await nobody.ask('A', name)).toMatchObject({ code: 'ok', answers: [] });
    for (const name of ['example.org', '', 'xmoorage', `${NAME}.moorage.example.org`])
      expect(await nobody.ask('A', name)).toMatchObject({ code: 'refused' });
    expect(await world([endpoint(0)], 'http.m.monitors.system').ask('A')).toMatchObject({
      code: 'no-such-name',
    });
  });

  it('S0.30: what is old is told as old, and beyond the bound it is SERVFAIL', async () => {
    const { clock, ask } = world([endpoint(0)]);
    expect(await ask('A')).not.toHaveProperty('note');
    await clock.advance(KEPT_MS);
    const old = await ask('A');
    expect([old.code, dataOf(old), old.note?.kind]).toEqual(['ok', ['10.0.0.1'], 'stale']);
    expect(dataOf(await ask('TXT'))).toEqual(['age=60.0s endpoints=1']);
    await clock.advance(1);
    expect(await ask('A')).toMatchObject({ code: 'failed', answers: [], note: { kind: 'not-ready' } });
  });

  it('S0.30: of what nobody has told yet it waits a moment, and then says that it does not know', async () => {
    const { clock, names, ask } = world([endpoint(0)]);
    const [told, untold] = [ask('A', 'db.web.shop.default.moorage'), ask('A', 'x.web.shop.default.moorage')];
    names.tell({ kind: 'name', name: 'db.web.shop.default', known: true, endpoints: [endpoint(3)] });
    names.heard();
    expect(dataOf(await told)).toEqual(['10.0.0.1']);
    await clock.advance(1_500);
    expect((await untold).code).toBe('failed');
    expect(clock.pending).toBe(0);
  });

  it('each answer has an order of its own', async () => {
    const { ask } = world(
      Array.from({ length: 8 }, (_, n) => endpoint(n, { address: `10.0.0.${String(n)}` })),
    );
    const orders = new Set<string>();
    for (let n = 0; n < 50; n++) orders.add(dataOf(await ask('A')).join());
    expect(orders.size).toBeGreaterThan(10);
  });

  it('S0.30: an answer lists ready instances only: told last, not ended here, on a silent host when there is no other', async () => {
    const arbitrary = fc.array(fc.record({ index: fc.nat(30), stale: fc.boolean(), over: fc.boolean() }), {
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(arbitrary, arbitrary, fc.constantFrom('A', 'SRV'), async (before, now, type) => {
        const listOf = (list: typeof before) =>
          list.map(({ index, stale }, at) =>
            endpoint(index, {
              ...{ allocation: `${String(index)}-${String(at)}`, port: 1_000 + index },
              ...{ address: `10.1.0.${String(index)}`, ...(stale ? { staleSinceMs: 1 } : {}) },
            }),
          );
        const { names, over, ask } = world(listOf(before));
        const endpoints = listOf(now);
        names.tell({ kind: 'name', name: NAME, known: true, endpoints });
        now.forEach(({ over: isOver }, at) => isOver && over.add(endpoints[at]?.allocation ?? ''));
        const live = endpoints.filter(({ allocation }) => !over.has(allocation));
        const fresh = live.filter(({ staleSinceMs }) => staleSinceMs === undefined);
        const ready = new Set((fresh.length > 0 ? fresh : live).map(({ address }) => address));
        const { answers, additionals = [] } = await ask(type);
        const told = type === 'A' ? answers : additionals;
        expect(new Set(told.map(({ data }) => data))).toEqual(ready);
        if (type === 'SRV') expect(answers).toHaveLength(fresh.length > 0 ? fresh.length : live.length);
      }),
    );
  });
});
