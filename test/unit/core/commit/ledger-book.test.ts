import { describe, expect, it } from 'vitest';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import { LedgerBook } from '../../../../src/core/commit/ledger-book.ts';
import { testAllocation } from '../../../support/commit-world.ts';

describe('ledger book', () => {
  const one = withClaim(EMPTY_LEDGER, testAllocation('a', 'h'));
  const two = withClaim(one, testAllocation('b', 'h'));

  it('knows nothing of a host as the empty ledger at revision 0', () => {
    expect(new LedgerBook().get('h')).toEqual({ ledger: EMPTY_LEDGER, revision: 0 });
  });

  it('keeps the newest, in whatever order the changes come', () => {
    const book = new LedgerBook();
    expect(book.observe('h', two, 7)).toBe(true);
    expect(book.observe('h', one, 5)).toBe(false);
    expect(book.observe('h', two, 7)).toBe(false);
    expect(book.get('h')).toEqual({ ledger: two, revision: 7 });
    expect([...book.hosts()]).toEqual(['h']);
  });

  it('forgets a deleted ledger, and late changes do not bring it back', () => {
    const book = new LedgerBook();
    book.observe('h', one, 5);
    expect(book.observe('h', null, 9)).toBe(true);
    expect(book.get('h').revision).toBe(0);
    expect(book.observe('h', two, 7)).toBe(false);
    expect(book.observe('h', two, 10)).toBe(true);
    expect(book.get('h').revision).toBe(10);
  });
});
