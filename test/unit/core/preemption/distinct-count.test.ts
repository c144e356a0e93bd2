import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DistinctCount } from '../../../../src/core/preemption/distinct-count.ts';
import { preemptionHosts, mayPreemptOn } from '../../../../src/core/preemption/preemption.ts';
import { HeldCount } from '../../../support/placement-walk.ts';
import type { KnownHost } from '../../../../src/core/cell-state/host-slot.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import { attributeOf } from '../../../../src/core/host/attributes.ts';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import type { Group } from '../../../../src/core/cell/job.ts';
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

const PASSED = new Set<string>();
const idOf = (n: number): string => `h${String(n)}`;

/** What `distinct` says by a walk over all that the group holds. */
function allowsByWalk(state: CellState, group: Group, held: readonly KnownHost[], id: string): boolean {
  const count = new HeldCount(group);
  for (const known of held) {
    const host = state.hostOf(known.id);
    if (host !== undefined) count.add(host);
  }
  const host = state.hostOf(id);
  if (host === undefined) return false;
  return group.distinct.every((name) => {
    if (name === 'id') return !count.byHost.has(id);
    const value = attributeOf(host, name);
    return value === undefined || (count.byValue.get(name)?.get(value) ?? 0) === 0;
  });
}

/** A host that one of lower precedence fills. */
function setHost(state: CellState, n: number, rack: string | null, revision: number): void {
  const id = idOf(n);
  state.setHost(makeHost(id, { attributes: rack === null ? {} : { rack } }));
  state.setAlive(id, true);
  const claim = makeClaim(`low-${id}`, id, { precedence: 10, resources: amounts(4000, 8192) });
  state.setLedger(id, withClaim(EMPTY_LEDGER, claim), revision);
}

/** Few allocations are looked up by their hosts, many are counted by index: both are tried, the second with few hosts left. */
describe.each([
  { hosts: 8, heldAtFirst: 0, numRuns: 300 },
  { hosts: 80, heldAtFirst: 68, numRuns: 100 },
])('DistinctCount of $hosts hosts', ({ hosts, heldAtFirst, numRuns }) => {
  const host = fc.integer({ min: 0, max: hosts - 1 });
  const rack = fc.constantFrom(null, 'r0', 'r1', 'r2', 'r3');
  const anyStep = fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('add' as const), host }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), at: fc.nat() }) },
    fc.record({ kind: fc.constant('change' as const), host, rack }),
    fc.record({ kind: fc.constant('leave' as const), host }),
    // Another group's request divides the classes again.
    fc.record({ kind: fc.constant('other' as const), name: fc.constantFrom('rack', 'zone', 'row') }),
  );
  const anyDistinct = fc.subarray(['id', 'rack'], { minLength: 0 });

  it('kept while allocations and hosts come, change and go, says what a walk over all that is held says', () => {
    const law = fc.property(
      fc.array(rack, { minLength: hosts, maxLength: hosts }),
      fc.array(host, { maxLength: 4 }),
      fc.array(anyStep, { maxLength: 30 }),
      anyDistinct,
      (racks, before, steps, distinct) => {
        const state = makeCell([]);
        for (const [n, name] of racks.entries()) setHost(state, n, name, 1);
        const group = makeGroup({ distinct });
        const all = [...Array(heldAtFirst).keys(), ...before];
        const held: KnownHost[] = all.map((n) => state.known(idOf(n)));
        const count = new DistinctCount(state, group, held);
        for (const [at, step] of steps.entries()) {
          if (step.kind === 'add') {
            held.push(state.known(idOf(step.host)));
            count.add(state.known(idOf(step.host)));
          } else if (step.kind === 'remove') {
            const [gone] = held.splice(held.length === 0 ? 0 : step.at % held.length, 1);
            if (gone !== undefined) count.remove(gone);
          } else if (step.kind === 'change') setHost(state, step.host, step.rack, at + 2);
          else if (step.kind === 'leave') state.removeHost(idOf(step.host));
          else
            state.selections.for(
              makeRequest({ group: makeGroup({ constraints: [expr(step.name, 'exists')] }) }),
            );
          // Sometimes several come between two searches.
          if (at % 3 === 1) continue;
          const plain = makeRequest({ group, precedence: 50, hostsHeld: held });
          const kept = { excluded: PASSED, held: count };
          const byWalk = [...Array(hosts).keys()]
            .map(idOf)
            .filter((id) => allowsByWalk(state, group, held, id));
          for (const rules of [kept, { excluded: PASSED }]) {
            const found = preemptionHosts(state, plain, chanceOf(1), { ...rules, most: 16 });
            expect(found).toHaveLength(Math.min(16, byWalk.length));
            expect(byWalk).toEqual(expect.arrayContaining(found));
          }
          for (let n = 0; n < hosts; n++)
            expect(mayPreemptOn(state, plain, idOf(n), kept)).toBe(byWalk.includes(idOf(n)));
        }
      },
    );
    fc.assert(law, { numRuns });
  });
});

describe('DistinctCount', () => {
  it('a search finds the one host that is left among very many', () => {
    const many = 3_000;
    const state = makeCell([]);
    for (let n = 0; n < many; n++) setHost(state, n, null, 1);
    const group = makeGroup({ distinct: ['id'] });
    const held = new DistinctCount(state, group, []);
    for (let n = 1; n < many; n++) held.add(state.known(idOf(n)));
    const request = makeRequest({ group, precedence: 50 });
    for (let seed = 0; seed < 5; seed++)
      expect(preemptionHosts(state, request, chanceOf(seed), { excluded: PASSED, held, most: 1 })).toEqual([
        idOf(0),
      ]);
  });
});
