import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import type { Chance } from '../../../../src/core/random/chance.ts';
import type { Claim } from '../../../../src/core/cell/claim.ts';
import type { Interference, Near } from '../../../../src/core/cell/interference.ts';
import { interferenceScalars } from '../../../../src/core/cell/interference.ts';
import type { Host } from '../../../../src/core/host/host.ts';
import type { Affinity, Expression } from '../../../../src/core/cell/job.ts';
import { fitShortfall } from '../../../../src/core/fit/fit.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import type { TaskMix } from '../../../../src/core/scoring/fragmentation.ts';
import type { PlacementPolicy } from '../../../../src/core/scoring/policy.ts';
import type { PlacementRequest } from '../../../../src/core/placement/placement-request.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import { keptByWalk, rankByWalk } from '../../../support/placement-walk.ts';
import {
  amounts,
  chanceOf,
  claimOf,
  expr,
  largeCell,
  load,
  makeCell,
  makeClaim,
  makeGroup,
  makeHost,
  makeRequest,
  makeShared,
  settle,
} from './placement-fixtures.ts';

const MODELS = ['T4', 'A10'];
const id = (n: number): string => `h${String(n)}`;

const anyHost = (n: number): fc.Arbitrary<Host> =>
  fc
    .record({
      cpu: fc.constantFrom(2000, 4000, 8000),
      memory: fc.constantFrom(2048, 8192),
      cache: fc.constantFrom(0, 0, 2),
      gpuModels: fc.array(fc.constantFrom(...MODELS), { maxLength: 3 }),
      zone: fc.constantFrom('z1', 'z2', 'z3', null),
      os: fc.constantFrom('linux', 'bsd'),
      ports: fc.integer({ min: 0, max: 3 }),
      driver: fc.constantFrom(null, null, null, 'false', 'true'),
    })
    .map(({ cpu, memory, cache, gpuModels, zone, os, ports, driver }) =>
      makeHost(id(n), {
        capacity: { ...amounts(cpu, memory, 100), scalars: cache > 0 ? { cache } : {} },
        gpuModels,
        portRange: { first: 100, last: 99 + ports },
        attributes: {
          os,
          ...(zone === null ? {} : { zone }),
          ...(driver === null ? {} : { 'driver.exec': driver }),
        },
      }),
    );

const anyHosts = fc
  .integer({ min: 1, max: 14 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, n) => anyHost(n))));

const anyExpression: fc.Arbitrary<Expression> = fc.oneof(
  fc.constantFrom(expr('os', '==', 'linux'), expr('zone', 'in', 'z1,z2'), expr('host.memory', '>=', '4000')),
  fc.constantFrom(expr('zone', 'exists'), expr('zone', '!=', 'z1'), expr('gpuModel', '==', 'T4')),
  fc.constantFrom(expr('id', '!=', 'h0'), expr('id', 'in', 'h0,h1,h2,h3'), expr('host.id', '==', 'h1')),
);

const anyAffinity: fc.Arbitrary<Affinity> = fc.record({
  expression: anyExpression,
  weight: fc.constantFrom(-100, -30, 40, 100),
});

const anyInterference: fc.Arbitrary<Interference> = fc.constantFrom(
  ...[{}, {}, { class: 'a' }, { avoid: [{ class: 'b' }] }, { class: 'b', avoid: [{ class: 'a' }] }],
  { class: 'a', avoid: [{ class: 'a' }, { class: 'b' }] },
  { class: 'b', avoid: [{ class: 'a', over: 'zone' }] },
  {
    class: 'a',
    avoid: [
      { class: 'a', over: 'zone' },
      { class: 'b', over: 'os' },
    ],
  },
);

const anyNear: fc.Arbitrary<readonly Near[]> = fc.uniqueArray(
  fc.record(
    {
      class: fc.constantFrom('a', 'b'),
      over: fc.constantFrom('zone', 'os'),
      weight: fc.constantFrom(20, 50, 100),
    },
    { requiredKeys: ['class', 'weight'] },
  ),
  { selector: ({ class: name, over = '' }) => `${name} ${over}`, maxLength: 3 },
);

const anyRequest: fc.Arbitrary<PlacementRequest> = fc
  .record({
    cpu: fc.constantFrom(0, 500, 1000, 3000),
    memory: fc.constantFrom(0, 512, 2048),
    cache: fc.constantFrom(0, 0, 0, 1),
    neighbours: anyInterference,
    near: fc.option(anyNear, { nil: undefined }),
    gpu: fc.constantFrom(
      null,
      null,
      { count: 1, milliEach: 300, models: [] },
      { count: 2, milliEach: 1000, models: [] },
      { count: 1, milliEach: 700, models: ['T4'] },
      { count: 2, milliEach: 400, models: ['A10'] },
    ),
    ports: fc.constantFrom(
      {},
      {},
      { http: 0 },
      { http: 100 },
      { http: 101, admin: 0 },
      { http: 100, admin: 100 },
    ),
    constraints: fc.array(anyExpression, { maxLength: 2 }),
    affinities: fc.array(anyAffinity, { maxLength: 2 }),
    spread: fc.subarray([
      { attribute: 'zone', weight: 100 },
      { attribute: 'zone', weight: 60, targets: { z1: 60, z3: 20, gone: 10 } },
      { attribute: 'os', weight: 30 },
      { attribute: 'os', weight: 40, targets: { linux: 80 } },
      { attribute: 'id', weight: 20 },
    ]),
    distinct: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.subarray(['zone', 'id', 'os'], { maxLength: 2 }) },
    ),
    shared: fc.constantFrom(
      ...[undefined, undefined, undefined, { uplink: 100 }, { power: 70 }, { uplink: 40, power: 30 }],
      { nobody: 1 },
    ),
    count: fc.integer({ min: 1, max: 6 }),
    held: fc.array(fc.integer({ min: 0, max: 15 }), { maxLength: 4 }),
    avoid: fc.array(fc.integer({ min: 0, max: 15 }), { maxLength: 3 }),
    refuse: fc.array(fc.integer({ min: 0, max: 15 }), { maxLength: 3 }),
  })
  .map(({ cpu, memory, cache, neighbours, near, gpu, ports, shared, count, held, avoid, refuse, ...says }) =>
    makeRequest({
      ...(shared === undefined ? {} : { shared }),
      group: makeGroup({ ...says, ...(near === undefined ? {} : { near }) }),
      resources: {
        ...amounts(cpu, memory),
        scalars: { ...(cache > 0 ? { cache } : {}), ...interferenceScalars(neighbours) },
      },
      gpu,
      ports,
      count,
      hostsHeld: held.map((n) => ({ id: id(n), index: -1 })),
      avoidHosts: avoid.map(id),
      refusingHosts: refuse.map(id),
    }),
  );

/** What may happen to a scheduler's copy between two decisions. */
type CellEvent =
  | {
      readonly kind: 'assume';
      readonly host: number;
      readonly cpu: number;
      readonly gpu: number;
      readonly port: number;
      readonly neighbours: Interference;
    }
  | { readonly kind: 'end'; readonly nth: number }
  | {
      readonly kind: 'ledger';
      readonly host: number;
      readonly cpu: number;
      readonly port: number;
      readonly neighbours: Interference;
      readonly state: 'ready' | 'draining';
    }
  | { readonly kind: 'host'; readonly how: 'dead' | 'back' | 'remove'; readonly host: number }
  | { readonly kind: 'arrange' }
  | { readonly kind: 'pool'; readonly pool: string; readonly used: number }
  | { readonly kind: 'define'; readonly by: 'zone' | 'os' | null; readonly capacity: number };

const hostNumber = fc.integer({ min: 0, max: 13 });
const anyEvent: fc.Arbitrary<CellEvent> = fc.oneof(
  fc.record({
    kind: fc.constant('assume' as const),
    host: hostNumber,
    cpu: fc.constantFrom(500, 1500),
    gpu: fc.constantFrom(0, 300, 700),
    port: fc.constantFrom(0, 100, 101),
    neighbours: anyInterference,
  }),
  fc.record({
    kind: fc.constant('end' as const),
    nth: fc.nat(5),
  }),
  fc.record({
    kind: fc.constant('ledger' as const),
    host: hostNumber,
    cpu: fc.constantFrom(0, 1000, 2000),
    port: fc.constantFrom(100, 101, 102),
    neighbours: anyInterference,
    state: fc.constantFrom('ready' as const, 'ready' as const, 'draining' as const),
  }),
  fc.record({
    kind: fc.constant('host' as const),
    how: fc.constantFrom('dead' as const, 'back' as const, 'remove' as const),
    host: hostNumber,
  }),
  fc.record({
    kind: fc.constant('pool' as const),
    pool: fc.constantFrom('uplink/z1', 'uplink/z2', 'uplink/linux', 'uplink/cell', 'power/cell'),
    used: fc.constantFrom(0, 50, 200, 300),
  }),
  fc.record({ kind: fc.constant('arrange' as const) }),
  fc.record({
    kind: fc.constant('define' as const),
    by: fc.constantFrom('zone' as const, 'os' as const, null),
    capacity: fc.constantFrom(0, 90, 350, 1000),
  }),
);

const mix: TaskMix = [
  { cpuMilli: 1000, gpu: null, weight: 2 },
  { cpuMilli: 500, gpu: { count: 1, milliEach: 500, models: [] }, weight: 3 },
  { cpuMilli: 2000, gpu: { count: 1, milliEach: 500, models: [] }, weight: 1 },
  { cpuMilli: 4000, gpu: { count: 2, milliEach: 1000, models: ['T4'] }, weight: 1 },
];

const anyPolicy: fc.Arbitrary<PlacementPolicy> = fc.record({
  name: fc.constant('any'),
  score: fc.constantFrom('binpack' as const, 'spread' as const, 'fgd' as const, 'random' as const),
  mix: fc.constant(mix),
  sample: fc.constantFrom(1, 2, 5, Infinity),
  sameHostCost: fc.constantFrom(0, 0.5),
});

function play(state: CellState, hosts: readonly Host[], events: readonly CellEvent[], name: string): void {
  const claims: Claim[] = [];
  for (const [n, event] of events.entries()) {
    if (event.kind === 'end') {
      state.forget(claims[event.nth] ?? { id: 'none', host: 'none' });
      continue;
    }
    if (event.kind === 'arrange') {
      state.arrange();
      continue;
    }
    if (event.kind === 'pool') {
      state.pools.observe(event.pool, event.used, n + 1);
      continue;
    }
    if (event.kind === 'define') {
      state.pools.define('uplink', makeShared('uplink', event.by, event.capacity), n + 1);
      continue;
    }
    const host = id(event.host);
    if (event.kind === 'assume') {
      const gpus = event.gpu > 0 ? [{ device: 0, milli: event.gpu }] : [];
      const ports: Claim['ports'] = event.port > 0 ? { p: event.port } : {};
      const claim = makeClaim(`${name}${String(n)}`, host, {
        resources: { ...amounts(event.cpu, 100), scalars: interferenceScalars(event.neighbours) ?? {} },
        ...{ gpus, ports },
      });
      claims.push(claim);
      state.assume(claim);
    } else if (event.kind === 'ledger') {
      const scalars = interferenceScalars(event.neighbours) ?? {};
      const resources = { ...amounts(event.cpu, 10), scalars };
      const claim = makeClaim('x', host, { resources, ports: { p: event.port } });
      state.setLedger(host, { ...withClaim(EMPTY_LEDGER, claim), state: event.state }, n);
    } else if (event.how === 'remove') state.removeHost(host);
    else if (event.how === 'dead') state.setAlive(host, false);
    else {
      const registered = hosts[event.host];
      if (registered !== undefined) state.setHost(registered);
      state.setAlive(host, true);
    }
  }
}

const anyCell = fc.tuple(
  anyHosts,
  fc.array(anyEvent, { maxLength: 25 }),
  fc.array(anyRequest, { maxLength: 2 }),
);

/** A cell after some history; requests in between make the tables divide the hosts before all of it is known. */
function build(
  [hosts, events, requests]: [Host[], CellEvent[], PlacementRequest[]],
  seed: number,
): CellState {
  const state = makeCell(hosts);
  state.pools.define('uplink', makeShared('uplink', 'host.zone', 250), 1);
  state.pools.define('power', makeShared('power', null, 250), 1);
  const half = events.length >> 1;
  const policy: PlacementPolicy = { name: 'any', score: 'binpack', sample: 3, sameHostCost: 0 };
  play(state, hosts, events.slice(0, half), 'early');
  for (const request of requests) place(state, request, partedChance(seed), policy);
  play(state, hosts, events.slice(half), 'late');
  return state;
}

/** Chance for a search that goes through a part of the hosts first, wherever that lies; for one seed in four, through no part. */
function partedChance(seed: number): Chance {
  const chance = chanceOf(seed);
  if (seed % 4 === 0) return chance;
  return {
    fraction: () => chance.fraction(),
    below: (bound) => chance.below(bound),
    part: (bound) => {
      const first = chance.below(bound);
      return { first, end: first + 1 + chance.below(bound - first) };
    },
  };
}

/** The request as one who knows the state makes it. */
function heldIn(state: CellState, request: PlacementRequest): PlacementRequest {
  return { ...request, hostsHeld: request.hostsHeld.map(({ id: name }) => state.known(name)) };
}

describe('place against the walk over all hosts, also with neighbours (S3.17)', () => {
  it('S3.15 finds a place if and only if the walk does, and each pick fits by the one fit rule', () => {
    const law = fc.property(anyCell, anyRequest, anyPolicy, fc.nat(), (cell, drawn, policy, seed) => {
      const state = build(cell, seed);
      const request = heldIn(state, drawn);
      const result = place(state, request, partedChance(seed), policy);
      expect(result.chosen.length + result.unplaced).toBe(request.count);
      const held = [...request.hostsHeld];
      for (const [n, chosen] of result.chosen.entries()) {
        const ranks = rankByWalk(state, { ...request, hostsHeld: held }, policy);
        expect([...ranks.keys()]).toContain(chosen.host);
        const claim = claimOf(`new${String(n)}`, chosen, request, state);
        const host = state.hostOf(chosen.host);
        if (host === undefined) throw new Error('chose a host that is not there');
        expect(fitShortfall(host, state.ledgerOf(host.id), claim)).toBeNull();
        expect(Object.keys(chosen.ports).sort()).toEqual(Object.keys(request.ask.ports).sort());
        expect(chosen.gpus.length).toBe(request.ask.gpu?.count ?? 0);
        state.assume(claim);
        held.push(state.known(chosen.host));
      }
      if (result.unplaced > 0)
        expect(rankByWalk(state, { ...request, hostsHeld: held }, policy).size).toBe(0);
    });
    fc.assert(law, { numRuns: 3000 });
  });

  it('picks the best host when the sample covers all that fit, and only then one to avoid when no other fits', () => {
    const law = fc.property(anyCell, anyRequest, anyPolicy, fc.nat(), (cell, drawn, policy, seed) => {
      const state = build(cell, seed);
      const request = heldIn(state, drawn);
      const one = { ...request, count: 1 };
      const ranks = rankByWalk(state, one, policy);
      const willing = [...ranks].filter(([host]) => !request.refusingHosts.includes(host));
      const wanted = willing.filter(([host]) => !request.avoidHosts.includes(host));
      const best = [wanted, willing].find((some) => some.length > 0) ?? [...ranks];
      const { chosen } = place(state, one, chanceOf(seed), policy);
      const host = chosen[0]?.host;
      if (host === undefined) return;
      expect(best.map(([name]) => name)).toContain(host);
      if (best.length > policy.sample) return;
      expect(ranks.get(host)).toBeCloseTo(Math.max(...best.map(([, score]) => score)), 9);
    });
    fc.assert(law, { numRuns: 3000 });
  });

  it('picks the best host each time when it scores every host, also for many at once', () => {
    const law = fc.property(anyCell, anyRequest, anyPolicy, fc.nat(), (cell, drawn, any, seed) => {
      const state = build(cell, seed);
      const request = heldIn(state, drawn);
      const policy = { ...any, sample: Infinity };
      const unavoided = { ...request, avoidHosts: [], refusingHosts: [] };
      const result = place(state, unavoided, chanceOf(seed), policy);
      const held = [...request.hostsHeld];
      const kept = keptByWalk(state, request, policy);
      for (const [n, chosen] of result.chosen.entries()) {
        const ranks = rankByWalk(state, { ...request, hostsHeld: held }, policy, kept);
        expect(ranks.get(chosen.host)).toBeCloseTo(Math.max(...ranks.values()), 9);
        state.assume(claimOf(`new${String(n)}`, chosen, request, state));
        held.push(state.known(chosen.host));
      }
    });
    fc.assert(law, { numRuns: 2000 });
  });

  it('agrees with the walk in a cell of many hosts, wherever it looks for them', () => {
    const hostsCount = 1200;
    const rare = expr('zone', '==', 'rare');
    const groups = [
      makeGroup(),
      makeGroup({ constraints: [rare] }),
      makeGroup({ constraints: [expr('os', '==', 'bsd')] }),
      makeGroup({
        spread: [{ attribute: 'zone', weight: 50 }],
        affinities: [{ expression: rare, weight: 30 }],
      }),
      makeGroup({ distinct: ['zone'] }),
      makeGroup({ near: [{ class: 'rare', weight: 50 }] }),
      makeGroup({ near: [{ class: 'a', weight: 60 }], constraints: [rare] }),
      makeGroup({
        spread: [{ attribute: 'zone', weight: 50 }],
        near: [
          { class: 'a', weight: 20 },
          { class: 'b', weight: 40 },
          { class: 'rare', over: 'os', weight: 30 },
        ],
      }),
    ];
    const gpus = [
      null,
      { count: 1, milliEach: 800, models: [] },
      { count: 2, milliEach: 1000, models: ['T4'] },
    ];
    const neighbours: Readonly<Record<string, number>>[] = [
      {},
      interferenceScalars({ avoid: [{ class: 'c', over: 'zone' }] }) ?? {},
      interferenceScalars({ class: 'c' }) ?? {},
      { 'avoid.a': 1 },
      { 'class.a': 1 },
      { 'class.b': 1, 'avoid.a': 1, 'avoid.b': 1 },
    ];
    const law = fc.property(fc.nat(), fc.nat(), anyPolicy, (cellSeed, seed, policy) => {
      const chance = chanceOf(seed);
      const state = largeCell(cellSeed, hostsCount);
      for (let round = 0; round < 6; round++) {
        load(state, chance, hostsCount, 600);
        settle(state, chance, hostsCount, round);
        const resources = { ...amounts(10, 10), scalars: { 'class.rare': 1 } };
        const rarely = id(chance.below(hostsCount));
        state.assume(makeClaim(`rare-${String(round)}`, rarely, { resources }));
        const request = makeRequest({
          group: groups[chance.below(groups.length)] ?? makeGroup(),
          gpu: gpus[chance.below(gpus.length)] ?? null,
          resources: {
            ...amounts(500 * (1 + chance.below(8)), 512 * (1 + chance.below(16))),
            scalars: neighbours[chance.below(neighbours.length)] ?? {},
          },
          hostsHeld: [state.known(id(chance.below(hostsCount)))],
        });
        const ranks = rankByWalk(state, request, policy);
        const host = place(state, request, chance, policy).chosen[0]?.host;
        if (host === undefined) expect(ranks.size).toBe(0);
        else expect([...ranks.keys()]).toContain(host);
        if (host === undefined || ranks.size > policy.sample) continue;
        expect(ranks.get(host)).toBeCloseTo(Math.max(...ranks.values()), 9);
      }
    });
    fc.assert(law, { numRuns: 25 });
  });

  it('leaves the state as it was', () => {
    const law = fc.property(anyCell, anyRequest, anyPolicy, fc.nat(), (cell, drawn, policy, seed) => {
      const state = build(cell, seed);
      const request = heldIn(state, drawn);
      const before = [...state.views()];
      const rows = [...state.index.rows];
      place(state, request, partedChance(seed), policy);
      expect([...state.views()]).toEqual(before);
      expect([...state.index.rows]).toEqual(rows);
    });
    fc.assert(law, { numRuns: 500 });
  });
});
