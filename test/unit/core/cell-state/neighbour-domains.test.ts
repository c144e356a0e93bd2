import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import type { Interference } from '../../../../src/core/cell/interference.ts';
import { classScalar, interferenceScalars } from '../../../../src/core/cell/interference.ts';
import { EMPTY_LEDGER, usedOf, withClaim } from '../../../../src/core/fit/ledger.ts';
import { amounts, makeCell, makeClaim, makeHost } from '../placement/placement-fixtures.ts';

const CLASSES = ['a', 'b'];
const HOSTS = 8;
const hosts = Array.from({ length: HOSTS }, (_, n) =>
  makeHost(`h${String(n)}`, { attributes: n === 7 ? {} : { rack: `r${String(n % 3)}` } }),
);
const says: fc.Arbitrary<Interference> = fc.constantFrom(
  ...[{}, { class: 'a' }, { class: 'b' }, { avoid: [{ class: 'a', over: 'rack' }] }],
  { class: 'b', avoid: [{ class: 'b' }] },
);
const events = fc.array(
  fc.record({
    host: fc.nat(HOSTS - 1),
    says,
    how: fc.constantFrom('assume', 'forget', 'ledger', 'remove', 'back', 'arrange', 'ask'),
  }),
  { maxLength: 40 },
);

/** The hosts with something of the class, each looked at. */
function walk(state: CellState, name: string): readonly string[] {
  return [...state.views()]
    .filter(({ ledger }) => (usedOf(ledger).scalars[classScalar(name)] ?? 0) > 0)
    .map(({ host }) => host.id);
}

function check(state: CellState): void {
  const { domains } = state.index;
  for (const name of CLASSES) {
    const wanted = walk(state, name);
    const listed = domains.hostsOf(name);
    expect(listed.map((index) => state.index.slot(index).id).sort()).toEqual([...wanted].sort());
    expect(listed).toEqual([...listed].sort((a, b) => a - b));
    const byRack = new Map<string, number>();
    for (const id of wanted) {
      const rack = state.hostOf(id)?.attributes['rack'];
      if (rack !== undefined) byRack.set(rack, (byRack.get(rack) ?? 0) + 1);
    }
    expect(new Map(domains.hostsWith({ class: name, attribute: 'rack' }))).toEqual(byRack);
  }
}

describe('S3.17: where something of a class is', () => {
  it('is what a walk over all hosts finds, whatever came, went and moved, and whenever it is asked first', () => {
    const law = fc.property(events, fc.boolean(), (all, isAskedFirst) => {
      const state = makeCell(hosts);
      if (isAskedFirst) check(state);
      const claims: ReturnType<typeof makeClaim>[] = [];
      for (const [n, { host, says: one, how }] of all.entries()) {
        const id = `h${String(host)}`;
        const resources = { ...amounts(1, 1), scalars: interferenceScalars(one) ?? {} };
        const claim = makeClaim(String(n), id, { resources });
        if (how === 'assume') {
          claims.push(claim);
          state.assume(claim);
        } else if (how === 'forget') {
          const gone = claims.shift();
          if (gone !== undefined) state.forget(gone);
        } else if (how === 'ledger') state.setLedger(id, withClaim(EMPTY_LEDGER, claim), n + 1);
        else if (how === 'remove') state.removeHost(id);
        else if (how === 'back') state.setHost(hosts[host]!);
        else if (how === 'arrange') state.arrange();
        else check(state);
      }
      check(state);
    });
    fc.assert(law, { numRuns: 300 });
  });

  it('nobody is avoided over an attribute when the last who avoided a class there has gone', () => {
    const state = makeCell(hosts);
    const { domains } = state.index;
    const far = interferenceScalars({ avoid: [{ class: 'a', over: 'rack' }] }) ?? {};
    const a = interferenceScalars({ class: 'a' }) ?? {};
    const claim = makeClaim('x', 'h0', { resources: { ...amounts(1, 1), scalars: far } });
    state.assume(claim);
    expect(domains.rulesFor({ ...a })).toMatchObject([{ class: 'a', attribute: 'rack', isAvoided: true }]);
    state.forget(claim);
    expect(domains.rulesFor({ ...a })).toEqual([]);
  });
});
