import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../src/core/cell-state.ts';
import type { Claim } from '../../../src/core/claim.ts';
import { chooseVictims, evictionHosts } from '../../../src/core/eviction.ts';
import { isRefusal, tryHost } from '../../../src/core/filters.ts';
import { HeldCount } from '../../../src/core/held.ts';
import type { Host } from '../../../src/core/host.ts';
import type { Ledger } from '../../../src/core/ledger.ts';
import { EMPTY_LEDGER, fitShortfall, withClaim, withoutUse } from '../../../src/core/ledger.ts';
import type { PlacementRequest } from '../../../src/core/placement.ts';
import { BINPACK } from '../../../src/core/placement.ts';
import {
  amounts,
  chanceOf,
  expr,
  makeCell,
  makeClaim,
  makeGroup,
  makeHost,
  makeRequest,
} from './placement-fixtures.ts';

const NOBODY = { most: 16, passed: new Set<string>() };

const anyClaim = (host: string): fc.Arbitrary<Claim> =>
  fc
    .record({
      precedence: fc.constantFrom(0, 10, 20, 50, 80),
      cpu: fc.constantFrom(100, 500, 1000, 2500),
      memory: fc.constantFrom(64, 1024, 4096),
      gpu: fc.constantFrom(0, 0, 300, 700, 1000),
      device: fc.integer({ min: 0, max: 1 }),
      cache: fc.constantFrom(0, 0, 1),
      port: fc.constantFrom(0, 0, 20_000, 20_001),
    })
    .map(({ precedence, cpu, memory, gpu, device, cache, port }) =>
      makeClaim('', host, {
        precedence,
        resources: { ...amounts(cpu, memory), scalars: cache > 0 ? { cache } : {} },
        gpus: gpu > 0 ? [{ device, milli: gpu }] : [],
        ports: port > 0 ? { http: port } : {},
      }),
    );

const makeFullHost = (id: string): Host =>
  makeHost(id, {
    capacity: { ...amounts(4000, 8192, 100), scalars: { cache: 2 } },
    gpuModels: ['T4', 'T4'],
    portRange: { first: 20_000, last: 20_002 },
  });

/** As many of the claims as fit, one after the other. */
function filled(
  host: Host,
  claims: readonly Claim[],
): { readonly ledger: Ledger; readonly running: Claim[] } {
  let ledger = EMPTY_LEDGER;
  const running: Claim[] = [];
  for (const [n, claim] of claims.entries()) {
    const named = { ...claim, id: `${host.id}-a${String(n)}` };
    if (fitShortfall(host, ledger, named) !== null) continue;
    ledger = withClaim(ledger, named);
    running.push(named);
  }
  return { ledger, running };
}

const anyRequest: fc.Arbitrary<PlacementRequest> = fc
  .record({
    precedence: fc.constantFrom(0, 10, 50, 90),
    cpu: fc.constantFrom(100, 1000, 3000, 4000),
    memory: fc.constantFrom(64, 2048, 8192),
    cache: fc.constantFrom(0, 0, 2),
    gpu: fc.constantFrom(
      null,
      null,
      { count: 1, milliEach: 800, models: [] },
      { count: 2, milliEach: 500, models: [] },
    ),
    ports: fc.constantFrom({}, {}, { http: 20_000 }, { http: 0 }),
  })
  .map(({ precedence, cpu, memory, cache, gpu, ports }) =>
    makeRequest({
      precedence,
      resources: { ...amounts(cpu, memory), scalars: cache > 0 ? { cache } : {} },
      gpu,
      ports,
    }),
  );

function fits(host: Host, ledger: Ledger, request: PlacementRequest): boolean {
  const view = { host, ledger, alive: true };
  return !isRefusal(tryHost(view, request, new HeldCount(request.group), 'fullest', chanceOf(1)));
}

const without = (ledger: Ledger, claims: readonly Claim[]): Ledger => claims.reduce(withoutUse, ledger);

describe('choosing victims', () => {
  const host = makeFullHost('h0');
  const anyCase = fc.record({
    claims: fc.array(anyClaim('h0'), { maxLength: 12 }),
    request: anyRequest,
    seed: fc.integer(),
  });

  it('S3.10 all of lower precedence, it fits after them, and without any one of them it would not', () => {
    fc.assert(
      fc.property(anyCase, ({ claims, request, seed }) => {
        const { ledger, running } = filled(host, claims);
        const choice = chooseVictims(host, ledger, request, running, chanceOf(seed));
        const lower = running.filter(({ precedence }) => precedence < request.precedence);
        const possible = !fits(host, ledger, request) && fits(host, without(ledger, lower), request);
        expect(choice !== null).toBe(possible);
        if (choice === null) return;
        const { victims, placement } = choice;
        for (const victim of victims) expect(victim.precedence).toBeLessThan(request.precedence);
        const claim = makeClaim('new', host.id, { resources: request.ask.resources, ...placement });
        expect(fitShortfall(host, without(ledger, victims), claim)).toBeNull();
        for (const spared of victims)
          expect(
            fits(
              host,
              without(
                ledger,
                victims.filter((one) => one !== spared),
              ),
              request,
            ),
          ).toBe(false);
        const highest = Math.max(...victims.map(({ precedence }) => precedence));
        const below = running.filter(({ precedence }) => precedence < highest);
        expect(fits(host, without(ledger, below), request)).toBe(false);
      }),
    );
  });

  it('takes the smallest one that is enough, not the first', () => {
    const small = makeClaim('small', 'h0', { precedence: 10, resources: amounts(1000, 64) });
    const large = makeClaim('large', 'h0', { precedence: 10, resources: amounts(3000, 64) });
    const ledger = withClaim(withClaim(EMPTY_LEDGER, large), small);
    const request = makeRequest({ resources: amounts(900, 64) });
    const choose = (asked: PlacementRequest) =>
      chooseVictims(host, ledger, asked, [large, small], chanceOf(1))?.victims.map(({ id }) => id);
    expect(choose(request)).toEqual(['small']);
    expect(choose(makeRequest({ resources: amounts(3000, 64) }))).toEqual(['large']);
  });

  it('passes over what the ledger no longer holds', () => {
    const here = makeClaim('here', 'h0', { precedence: 10, resources: amounts(4000, 64) });
    const gone = makeClaim('gone', 'h0', { precedence: 0, resources: amounts(4000, 64) });
    const ledger = withClaim(EMPTY_LEDGER, here);
    const choice = chooseVictims(
      host,
      ledger,
      makeRequest(),
      [gone, here, { ...here, id: 'twice' }],
      chanceOf(1),
    );
    expect(choice?.victims).toHaveLength(1);
    expect(choice?.victims[0]?.precedence).toBe(10);
  });
});

describe('finding hosts to evict on', () => {
  const anyCell = fc.array(
    fc.record({
      claims: fc.array(anyClaim('h'), { maxLength: 8 }),
      alive: fc.boolean(),
      changed: fc.boolean(),
    }),
    { minLength: 1, maxLength: 10 },
  );

  const makeState = (hosts: readonly { readonly claims: readonly Claim[] }[]): CellState => {
    const state = makeCell(hosts.map((_, n) => makeFullHost(`h${String(n)}`)));
    for (const [n, { claims }] of hosts.entries())
      state.setLedger(`h${String(n)}`, filled(makeFullHost(`h${String(n)}`), claims).ledger, 1);
    return state;
  };

  it('names every host where all below the precedence would make room, and none where it would not', () => {
    fc.assert(
      fc.property(anyCell, anyRequest, fc.integer(), (hosts, request, seed) => {
        const state = makeState(hosts);
        // Asked once before things change, so that the index must follow.
        evictionHosts(state, request, chanceOf(seed), BINPACK, NOBODY);
        for (const [n, { alive, changed }] of hosts.entries()) {
          const id = `h${String(n)}`;
          state.setAlive(id, alive);
          if (changed) state.setLedger(id, EMPTY_LEDGER, 2);
        }
        const named = new Set(evictionHosts(state, request, chanceOf(seed), BINPACK, NOBODY));
        for (const [n, { alive, changed, claims }] of hosts.entries()) {
          const host = makeFullHost(`h${String(n)}`);
          const { ledger, running } = changed ? filled(host, []) : filled(host, claims);
          const lower = running.filter(({ precedence }) => precedence < request.precedence);
          const makesRoom = alive && lower.length > 0 && fits(host, without(ledger, lower), request);
          if (makesRoom) expect(named.has(host.id)).toBe(true);
          // Devices are not told apart by precedence in a ledger.
          else if (request.ask.gpu === null) expect(named.has(host.id)).toBe(false);
        }
      }),
    );
  });

  it('S3.10 prefers the host whose victims are lowest, and keeps to constraints, distance and what is passed', () => {
    const state = makeCell(
      ['a', 'b', 'c', 'd'].map((id) => makeHost(id, { attributes: { zone: id === 'd' ? 'z2' : 'z1' } })),
    );
    for (const [id, precedence] of [
      ['a', 40],
      ['b', 10],
      ['c', 30],
      ['d', 0],
    ] as const)
      state.setLedger(
        id,
        withClaim(EMPTY_LEDGER, makeClaim('x', id, { precedence, resources: amounts(4000, 64) })),
        1,
      );
    const group = makeGroup({ constraints: [expr('zone', '==', 'z1')], distinct: ['id'] });
    const ask = (part: Partial<PlacementRequest>, passed: string[] = []): string[] =>
      evictionHosts(state, makeRequest({ group, ...part }), chanceOf(1), BINPACK, {
        most: 9,
        passed: new Set(passed),
      });
    expect(ask({})).toEqual(['b', 'c', 'a']);
    expect(ask({ precedence: 30 })).toEqual(['b']);
    expect(ask({ precedence: 10 })).toEqual([]);
    expect(ask({ hostsHeld: ['b'] })).toEqual(['c', 'a']);
    expect(ask({ avoidHosts: ['b'] }, ['c'])).toEqual(['a']);
    const pinned = { ...group, constraints: [expr('id', '==', 'a')] };
    expect(ask({ group: pinned })).toEqual(['a']);
  });
});
