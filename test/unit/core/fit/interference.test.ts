import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askOf } from '../../../../src/core/cell/ask.ts';
import type { Interference } from '../../../../src/core/cell/interference.ts';
import { interferenceScalars } from '../../../../src/core/cell/interference.ts';
import { fitShortfall } from '../../../../src/core/fit/fit.ts';
import { EMPTY_LEDGER, withClaim, withoutClaim } from '../../../../src/core/fit/ledger.ts';
import { allocationCodec, ledgerCodec } from '../../../../src/wire/records/records.ts';
import { testAllocation } from '../../../support/commit-world.ts';
import { amounts, makeClaim, makeGroup, makeHost } from '../placement/placement-fixtures.ts';

const CLASSES = ['latency', 'batch', 'cache'];

const anyInterference: fc.Arbitrary<Interference> = fc.record({
  class: fc.option(fc.constantFrom(...CLASSES), { nil: undefined }),
  avoid: fc.subarray(CLASSES).map((names) => names.map((name) => ({ class: name }))),
}) as fc.Arbitrary<Interference>;

/** Does one of them avoid the other? */
function harms(a: Interference, b: Interference): boolean {
  const avoids = (one: Interference, other: Interference): boolean =>
    one.avoid?.some((avoided) => avoided.class === other.class) === true;
  return avoids(a, b) || avoids(b, a);
}

const host = makeHost('h', { capacity: amounts(1_000_000, 1_000_000) });

const claimOf = (id: string, says: Interference) =>
  makeClaim(id, 'h', { resources: { ...amounts(1, 1), scalars: interferenceScalars(says) ?? {} } });

describe('S3.17: the fit rule keeps classes apart that harm each other', () => {
  it('refuses on a host exactly what avoids something there, or is avoided there, whichever came first', () => {
    const law = fc.property(fc.array(anyInterference, { maxLength: 6 }), anyInterference, (there, next) => {
      const ledger = there
        .map((says, n) => ({ ...claimOf(`c${String(n)}`, says), precedence: 10 * n }))
        .reduce(withClaim, EMPTY_LEDGER);
      const fits = fitShortfall(host, ledger, claimOf('next', next)) === null;
      expect(fits).toBe(!there.some((says) => harms(says, next)));
    });
    fc.assert(law);
  });

  it('says which class it is', () => {
    const ledger = withClaim(EMPTY_LEDGER, claimOf('a', { class: 'latency', avoid: [{ class: 'batch' }] }));
    const short = (says: Interference) => fitShortfall(host, ledger, claimOf('b', says))?.dimension;
    expect(short({ avoid: [{ class: 'latency' }] })).toBe('interference:avoid.latency');
    expect(short({ class: 'batch' })).toBe('interference:class.batch');
    expect(short({ class: 'latency' })).toBeUndefined();
  });

  it('a ledger forgets a class with its last allocation', () => {
    const says = { class: 'latency', avoid: [{ class: 'latency' }] };
    const one = withClaim(EMPTY_LEDGER, claimOf('a', says));
    expect(fitShortfall(host, one, claimOf('b', says))).not.toBeNull();
    expect(withoutClaim(one, claimOf('a', says))).toEqual(EMPTY_LEDGER);
  });

  it('records of who says nothing of neighbours are the same to the byte', () => {
    expect(askOf(makeGroup({ class: 'latency' })).resources.scalars).toEqual({ 'class.latency': 1 });
    const { resources } = askOf(makeGroup());
    expect(resources.scalars).toEqual({});
    const plain = testAllocation('a', 'h', { resources });
    expect(allocationCodec.encode(plain)).toContain('"resources":[0,0,0],');
    expect(ledgerCodec.encode(withClaim(EMPTY_LEDGER, claimOf('a', {})))).toBe(
      '{"v":1,"bands":{"50":[1,1,0]}}',
    );
    expect(ledgerCodec.encode(withClaim(EMPTY_LEDGER, claimOf('a', { class: 'latency' })))).toBe(
      '{"v":1,"bands":{"50":[1,1,0,{"class.latency":1}]}}',
    );
  });
});
