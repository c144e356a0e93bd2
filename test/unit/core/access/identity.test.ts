import { describe, expect, it } from 'vitest';
import type { Identity } from '../../../../src/core/access/identity.ts';
import { IDENTITY_ROLES, identityUri, readIdentity } from '../../../../src/core/access/identity.ts';

describe('identities', () => {
  it('reads what it writes', () => {
    for (const role of IDENTITY_ROLES) {
      const identity: Identity = { cell: 'prod', role, id: 's-1' };
      expect(identityUri(identity)).toBe(`spiffe://prod/${role}/s-1`);
      expect(readIdentity(identityUri(identity))).toEqual(identity);
    }
  });

  it.each([
    ['another scheme', 'https://prod/scheduler/s1'],
    ['no role of a cell', 'spiffe://prod/root/s1'],
    ['no id', 'spiffe://prod/scheduler/'],
    ['no cell', 'spiffe:///scheduler/s1'],
    ['more than an id', 'spiffe://prod/scheduler/s1/operator'],
    ['a path out of the id', 'spiffe://prod/scheduler/../operator'],
    ['capitals', 'spiffe://prod/Operator/s1'],
    ['an escape', 'spiffe://prod/operator%2fs1/x'],
    ['nothing', ''],
  ])('refuses %s', (_what, uri) => {
    expect(readIdentity(uri)).toBeNull();
  });
});
