import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { interferenceScalars } from '../../../../src/core/cell/interference.ts';
import type { Ledger } from '../../../../src/core/fit/ledger.ts';
import { fitShortfall } from '../../../../src/core/fit/fit.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import type { Placement } from '../../../../src/core/placement/placement-request.ts';
import { BINPACK, LEVEL } from '../../../../src/core/scoring/policy.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import { amounts, chanceOf, makeClaim, makeGroup, makeHost, makeRequest } from './placement-fixtures.ts';

const HOSTS = 12;
const hosts = Array.from({ length: HOSTS }, (_, n) =>
  makeHost(`h${String(n)}`, { attributes: { zone: `z${String(n % 3)}` } }),
);

/** Hosts that are to be avoided, and that refused. */
const AVOIDED = ['h0', 'h1', 'h2', 'h3'];
const REFUSING = ['h4', 'h5'];
const rankOf = ({ host }: Placement): number =>
  AVOIDED.includes(host) ? 1 : REFUSING.includes(host) ? 2 : 0;

const changes = fc.array(
  fc.record({
    host: fc.nat(HOSTS - 1),
    /** What the host's ledger holds from now on. */
    cpuMilli: fc.constantFrom(0, 1_000, 3_500, 4_000),
    unread: fc.boolean(),
    /** A search follows it. */
    places: fc.nat(4),
  }),
  { maxLength: 30 },
);

it('S3.17 finds the neighbours of other hosts in ledgers that lie unread: those it would be near, and those it avoids', () => {
  const cache = { ...amounts(10, 10), scalars: { 'class.cache': 1 } };
  const there = withClaim(EMPTY_LEDGER, makeClaim('x', 'h7', { resources: cache }));
  const hostFor = (part: Parameters<typeof makeRequest>[0]): string => {
    const late = new CellState((id) => late.setLedger(id, there, 5));
    for (const host of hosts) {
      late.setHost(host);
      late.setAlive(host.id, true);
    }
    late.setUnread('h7');
    return place(late, makeRequest(part), chanceOf(3), BINPACK).chosen[0]?.host ?? '';
  };
  const near = (over?: string) =>
    makeGroup({ near: [{ class: 'cache', weight: 100, ...(over === undefined ? {} : { over }) }] });
  expect(hostFor({ group: near() })).toBe('h7');
  expect(['h1', 'h4', 'h7', 'h10']).toContain(hostFor({ group: near('zone') }));
  const scalars = interferenceScalars({ avoid: [{ class: 'cache', over: 'zone' }] }) ?? {};
  for (let n = 0; n < 8; n++)
    expect(['h1', 'h4', 'h7', 'h10']).not.toContain(hostFor({ resources: { ...amounts(1, 1), scalars } }));
});

it('a cell whose ledgers are read late places what one places that reads at once, on hosts as wanted, and nothing that does not fit', () => {
  fc.assert(
    fc.property(
      changes,
      fc.nat(),
      fc.constantFrom(BINPACK, LEVEL),
      fc.boolean(),
      (all, seed, policy, avoids) => {
        const truth = new Map<string, { ledger: Ledger; revision: number }>();
        const late = new CellState((id) => {
          const known = truth.get(id);
          if (known !== undefined) late.setLedger(id, known.ledger, known.revision);
        });
        for (const host of hosts) {
          late.setHost(host);
          late.setAlive(host.id, true);
        }
        const group = makeGroup({ distinct: seed % 2 === 0 ? ['zone'] : [] });
        for (const [revision, { host, cpuMilli, unread, places }] of all.entries()) {
          const id = `h${String(host)}`;
          const claim = makeClaim('x', id, { resources: amounts(cpuMilli, 0) });
          const ledger = cpuMilli === 0 ? EMPTY_LEDGER : withClaim(EMPTY_LEDGER, claim);
          truth.set(id, { ledger, revision });
          if (unread) late.setUnread(id);
          else late.setLedger(id, ledger, revision);
          if (places === 0) continue;
          const eager = new CellState();
          for (const one of hosts) {
            eager.setHost(one);
            eager.setAlive(one.id, true);
            eager.setLedger(one.id, truth.get(one.id)?.ledger ?? EMPTY_LEDGER, 1);
          }
          const preferences = avoids ? { avoidHosts: AVOIDED, refusingHosts: REFUSING } : {};
          const request = makeRequest({ count: places, group, resources: amounts(2_000, 0), ...preferences });
          const { chosen, unplaced } = place(late, request, chanceOf(seed), policy);
          const atOnce = place(eager, request, chanceOf(seed), policy);
          expect(unplaced).toBe(atOnce.unplaced);
          if (avoids) expect(chosen.map(rankOf)).toEqual(atOnce.chosen.map(rankOf));
          const taken = new Map<string, Ledger>();
          for (const [n, placement] of chosen.entries()) {
            const before = taken.get(placement.host) ?? truth.get(placement.host)?.ledger ?? EMPTY_LEDGER;
            const wanted = makeClaim(`n${String(n)}`, placement.host, { resources: amounts(2_000, 0) });
            const on = hosts.find(({ id: name }) => name === placement.host);
            if (on === undefined) throw new Error('chose a host that is not there');
            expect(fitShortfall(on, before, wanted)).toBeNull();
            taken.set(placement.host, withClaim(before, wanted));
          }
        }
        expect(late.readAll() && late.readAll()).toBe(false);
        for (const one of hosts)
          expect(late.ledgerOf(one.id)).toEqual(truth.get(one.id)?.ledger ?? EMPTY_LEDGER);
      },
    ),
  );
});
