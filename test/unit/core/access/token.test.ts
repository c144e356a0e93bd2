import { describe, expect, it } from 'vitest';
import { mayUse, nameOfCaller, RIGHTS, sees } from '../../../../src/core/access/access.ts';
import { SCOPES } from '../../../../src/core/access/person.ts';
import { isSameHash, tokenIdOf, tokenText } from '../../../../src/core/access/token.ts';
import { somebody } from '../../../support/rights-table.ts';

const SECRET = new Uint8Array(32).map((_, i) => i * 7);

describe('tokens', () => {
  it('finds the id in its own text', () => {
    expect(tokenIdOf(tokenText('t1', SECRET))).toBe('t1');
  });

  it.each([
    '',
    'moorage',
    'moorage.t1',
    'moorage.T1.',
    `other.t1.${'0'.repeat(64)}`,
    `moorage.a/b.${'0'.repeat(64)}`,
  ])('takes %j for none', (text) => {
    expect(tokenIdOf(text)).toBeNull();
    expect(tokenIdOf(`${tokenText('t1', SECRET)}.more`)).toBeNull();
  });

  it('compares hashes whole', () => {
    expect(isSameHash('abc', 'abc')).toBe(true);
    for (const other of ['abd', 'ab', 'abcd', '', 'Abc']) expect(isSameHash('abc', other)).toBe(false);
  });
});

describe('S4.13 people', () => {
  it('each scope has the rights of those before it, and more', () => {
    const rights = SCOPES.map((scope) => RIGHTS.filter((right) => mayUse(somebody(scope, null), right)));
    expect(rights[0]).toEqual(['page', 'health', 'read', 'names']);
    for (let i = 1; i < rights.length; i++) {
      expect(rights[i]).toEqual(expect.arrayContaining([...(rights[i - 1] ?? [])]));
      expect(rights[i]?.length).toBeGreaterThan(rights[i - 1]?.length ?? 0);
    }
  });

  it('no scope has what roles do to each other', () => {
    for (const right of ['relay', 'start', 'stop', 'tickets', 'grants'] as const)
      for (const scope of SCOPES) expect(mayUse(somebody(scope, null), right)).toBe(false);
  });

  it('see the namespaces of their token, by their whole names', () => {
    const person = somebody('read', ['team-a']);
    expect(['team-a', 'team', 'team-ab', 'default'].filter((name) => sees(person, name))).toEqual(['team-a']);
    expect(sees(somebody('read', null), 'any')).toBe(true);
    expect(sees({ cell: 'c', role: 'operator', id: 'ann' }, 'any')).toBe(true);
    expect(sees(null, 'any')).toBe(true);
  });

  it('are named in records by their token', () => {
    expect(nameOfCaller(somebody('read', null))).toBe('token/x');
    expect(nameOfCaller({ cell: 'c', role: 'operator', id: 'ann' })).toBe('operator/ann');
  });
});
