import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evictedBy, pendingEvictions } from '../../../../src/core/commit/pending-preemption.ts';
import { afterEviction, afterRelease, afterRevert } from '../../../../src/core/commit/ledger-changes.ts';
import { EMPTY_LEDGER, withClaim, withoutClaim } from '../../../../src/core/fit/ledger.ts';
import { ledgerCodec } from '../../../../src/wire/records/records.ts';
import { testAllocation } from '../../../support/commit-world.ts';

const intent = { namespace: 'default', job: 'huge', id: 'i' };
const amount = fc.integer({ min: 0, max: 3_000 });
const amounts = fc.record({
  cpuMilli: amount,
  memoryMib: amount,
  diskMib: fc.constant(0),
  scalars: fc.constant({}),
});

describe('a ledger with a pending preemption', () => {
  const someone = fc.record({ victim: amounts, member: amounts, other: amounts }).map((of) => {
    const victim = testAllocation('v', 'h', { resources: of.victim, ports: { http: 20_001 } });
    const member = testAllocation('m', 'h', { precedence: 80, resources: of.member, evicts: ['v'] });
    const other = testAllocation('o', 'h', { resources: of.other });
    const plain = { victim, victimRevision: 3, cause: 'why' };
    return { victim, other, member, eviction: pendingEvictions([member], [plain], intent)[0]! };
  });

  it('S3.10 I3 is as it was before, when it is taken back', () => {
    fc.assert(
      fc.property(someone, ({ victim, other, eviction }) => {
        const before = [victim, other].reduce(withClaim, EMPTY_LEDGER);
        const marked = afterEviction(before, eviction);
        const back = marked && afterRevert(marked, { victim: evictedBy(eviction), revision: 4 });
        expect(back && ledgerCodec.encode(back)).toBe(ledgerCodec.encode(before));
      }),
    );
  });

  it('S3.10 I3 holds nothing of it after its release, and its ports until then', () => {
    fc.assert(
      fc.property(someone, ({ victim, other, eviction }) => {
        const before = [victim, other].reduce(withClaim, EMPTY_LEDGER);
        const marked = afterEviction(before, eviction);
        expect(marked?.ports).toEqual([20_001]);
        const left = marked && afterRelease(marked, evictedBy(eviction));
        expect(left && ledgerCodec.encode(left)).toBe(ledgerCodec.encode(withoutClaim(before, victim)));
      }),
    );
  });

  it('is refused what it does not hold', () => {
    const victim = testAllocation('v', 'h', { ports: { http: 20_001 } });
    const eviction = pendingEvictions([], [{ victim, victimRevision: 3, cause: 'why' }], intent)[0]!;
    expect(afterEviction(EMPTY_LEDGER, eviction)).toBeNull();
    expect(afterRelease(EMPTY_LEDGER, victim)).toBeNull();
    expect(afterRevert(EMPTY_LEDGER, { victim: evictedBy(eviction), revision: 4 })).toBeNull();
  });
});
