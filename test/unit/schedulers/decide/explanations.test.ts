import { describe, expect, it } from 'vitest';
import { EXPLAIN_EVERY_MS, Explanations } from '../../../../schedulers/decide/explanations.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import { explain } from '../../../../src/core/placement/explain.ts';
import {
  amounts,
  expr,
  makeCell,
  makeClaim,
  makeGroup,
  makeHost,
  makeRequest,
} from '../../core/placement/placement-fixtures.ts';

describe('why parked groups have no place', () => {
  const state = makeCell([makeHost('h1'), makeHost('h2')]);
  const request = (cpuMilli: number) => ({
    ...makeRequest(),
    ask: { ...makeRequest().ask, resources: amounts(cpuMilli, 64) },
  });

  it('equal requests share an answer for a while, and what differs has its own', () => {
    const explanations = new Explanations(state);
    const first = explanations.of(request(90_000), 0);
    expect(first).toEqual(explain(state, request(90_000)));
    state.setLedger(
      'h1',
      withClaim(EMPTY_LEDGER, makeClaim('a', 'h1', { resources: amounts(1_000, 64) })),
      2,
    );
    expect(explanations.of(request(90_000), EXPLAIN_EVERY_MS - 1)).toBe(first);
    expect(explanations.of(request(90_001), 1)).not.toBe(first);
    const elsewhere = { ...request(90_000), group: makeGroup({ constraints: [expr('zone', '==', 'z1')] }) };
    expect(explanations.of(elsewhere, 1).refusals).toEqual([{ check: 'constraint', hosts: 2 }]);
    expect(explanations.of({ ...request(90_000), precedence: 99 }, 1)).not.toBe(first);
    const later = explanations.of(request(90_000), EXPLAIN_EVERY_MS);
    expect(later).toEqual(explain(state, request(90_000)));
    expect(later).not.toEqual(first);
  });

  it('a group that holds hosts has an answer of its own', () => {
    const explanations = new Explanations(state);
    const holding = { ...request(90_000), hostsHeld: [state.known('h1')] };
    expect(explanations.of(holding, 0)).not.toBe(explanations.of(holding, 0));
  });
});
