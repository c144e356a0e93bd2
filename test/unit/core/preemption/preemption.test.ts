import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { ROW } from '../../../../src/core/cell-state/capacity-tree.ts';
import type { Claim } from '../../../../src/core/cell/claim.ts';
import { SURPLUS_PRECEDENCE } from '../../../../src/core/cell/claim.ts';
import { costByLedger, preemptionHosts } from '../../../../src/core/preemption/preemption.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import type { PlacementRequest } from '../../../../src/core/placement/placement-request.ts';
import { anyClaim, anyRequest, filled, fits, makeFullHost, without } from './preemption-fixtures.ts';
import {
  amounts,
  chanceOf,
  expr,
  makeCell,
  makeClaim,
  makeGroup,
  makeHost,
  makeRequest,
} from '../placement/placement-fixtures.ts';

const NO_HOSTS = { most: 16, excluded: new Set<string>() };

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

  it('names every host where freeing all below the precedence is enough, and no other', () => {
    fc.assert(
      fc.property(anyCell, anyRequest, fc.integer(), (hosts, request, seed) => {
        const state = makeState(hosts);
        // Asked once before things change, so that the index must follow.
        preemptionHosts(state, request, chanceOf(seed), NO_HOSTS);
        for (const [n, { alive, changed }] of hosts.entries()) {
          const id = `h${String(n)}`;
          state.setAlive(id, alive);
          if (changed) state.setLedger(id, EMPTY_LEDGER, 2);
        }
        const named = new Set(preemptionHosts(state, request, chanceOf(seed), NO_HOSTS));
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

  it('S3.10 names only hosts where surplus of elastic groups is enough, if there are any, however many others there are', () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 60 }), fc.nat(), fc.integer(), (count, drawn, seed) => {
        const ids = Array.from({ length: count }, (_, n) => `h${String(n)}`);
        const state = makeCell(ids.map(makeFullHost));
        const grown = ids[drawn % count] ?? '';
        for (const id of ids) {
          const low = makeClaim('low', id, { precedence: 0, resources: amounts(3_000, 64) });
          const surplus = { precedence: SURPLUS_PRECEDENCE, resources: amounts(1_000, 64) };
          const claims = id === grown ? [low, makeClaim('surplus', id, surplus)] : [low];
          state.setLedger(id, claims.reduce(withClaim, EMPTY_LEDGER), 1);
        }
        const named = (cpuMilli: number) =>
          preemptionHosts(
            state,
            makeRequest({ precedence: 50, resources: amounts(cpuMilli, 64) }),
            chanceOf(seed),
            NO_HOSTS,
          );
        // A thousand is free on each other host, and nothing on this one without its surplus.
        expect(named(1_000)).toContain(grown);
        expect(named(1_000)).toHaveLength(1);
        // More than the surplus: whatever has enough below.
        expect(named(3_500).length).toBeGreaterThan(1);
      }),
    );
  });

  it('says of the cost from its table what the ledgers say, also of what changed since', () => {
    fc.assert(
      fc.property(anyCell, anyRequest, fc.integer(), (hosts, request, seed) => {
        const state = makeState(hosts);
        const { index } = state;
        index.preemption.treeBelow(request.precedence);
        for (const [n, { changed }] of hosts.entries()) {
          const id = `h${String(n)}`;
          if (changed) state.assume(makeClaim(`new-${id}`, id, { precedence: seed % 100 }));
        }
        index.preemption.treeBelow(request.precedence);
        const { resources } = request.ask;
        for (let host = 0; host < index.size; host++) {
          if (!index.preemption.bands.covers(host)) continue;
          const row = host * ROW;
          const asked = {
            ...request,
            ask: { ...request.ask, resources: amounts(resources.cpuMilli, resources.memoryMib) },
          };
          const cost = index.preemption.bands.cost(
            host,
            asked.ask.resources,
            request.precedence,
            index.rows,
            row,
          );
          expect(cost).toBe(costByLedger(index.slot(host), asked));
        }
      }),
    );
  });

  it('S3.10 prefers the host whose victims are lowest, and keeps to constraints, distance and what is excluded', () => {
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
    const ask = (part: Partial<PlacementRequest>, excluded: string[] = []): string[] =>
      preemptionHosts(state, makeRequest({ group, ...part }), chanceOf(1), {
        most: 9,
        excluded: new Set(excluded),
      });
    expect(ask({})).toEqual(['b', 'c', 'a']);
    expect(ask({ precedence: 30 })).toEqual(['b']);
    expect(ask({ precedence: 10 })).toEqual([]);
    expect(ask({ hostsHeld: [state.known('b')] })).toEqual(['c', 'a']);
    expect(ask({ avoidHosts: ['b'] }, ['c'])).toEqual(['a']);
    const pinned = { ...group, constraints: [expr('id', '==', 'a')] };
    expect(ask({ group: pinned })).toEqual(['a']);
  });
});
