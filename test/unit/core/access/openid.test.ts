import { describe, expect, it } from 'vitest';
import { nameOfCaller, sees } from '../../../../src/core/access/access.ts';
import type { OpenIdProvider } from '../../../../src/core/access/openid.ts';
import { isIssuer, isJsonWebToken, mayHoldKeys, personOfClaims } from '../../../../src/core/access/openid.ts';
import type { Person } from '../../../../src/core/access/person.ts';

const PROVIDER: OpenIdProvider = {
  ...{ name: 'corp', issuer: 'https://login.example.org', audience: 'moorage' },
  ...{ namespacesClaim: 'groups', scopeClaim: 'access.scope', setBy: 'operator/ann', setAtMs: 0 },
};

function of(claims: object, more: Partial<OpenIdProvider> = {}): Person | string {
  return personOfClaims({ ...PROVIDER, ...more }, { sub: 'ann', ...claims }, 9);
}

describe('S4.13 whom a provider speaks of', () => {
  it('has the namespaces of the claim, and no others', () => {
    const person = of({ groups: ['team-a', 'team-b', '/Not a namespace', 7, 'team-a'], name: 'Ann B.' });
    expect(person).toEqual({
      ...{ role: 'person', id: 'ann', issuer: PROVIDER.issuer, name: 'Ann B.' },
      ...{ scope: 'read', namespaces: ['team-a', 'team-b'], endsAtMs: 9 },
    });
    expect(sees(person as Person, 'team-b')).toBe(true);
    expect(sees(person as Person, 'default')).toBe(false);
    expect(nameOfCaller(person as Person)).toBe('oidc:https://login.example.org#ann');
    expect(of({ groups: 'team-a, team-b' })).toMatchObject({ namespaces: ['team-a', 'team-b'] });
    expect(of({ groups: ['system'] })).toMatchObject({ namespaces: ['system'] });
    expect(sees(of({ groups: ['system'] }) as Person, 'system')).toBe(false);
  });

  it.each([
    ['nothing', {}],
    ['an empty list', { groups: [] }],
    ['names that are none', { groups: ['Team A', '../x'] }],
    ['something else', { groups: { a: 1 } }],
    ['a claim of a prototype', { groups: undefined, toString: 'x' }],
  ])('is nobody with %s for namespaces', (_what, claims) => {
    expect(of(claims)).toBe('its claim groups names no namespace');
  });

  it('is nobody without a subject that fits on record', () => {
    for (const sub of [undefined, '', 7, 'a b', 'a\n', 'x'.repeat(300)])
      expect(of({ groups: ['a'], sub })).toContain('its sub is not');
  });

  it('has the highest scope that the claim names, for the cell only with all namespaces', () => {
    const scope = (text: unknown, groups: unknown = ['*']) => of({ groups, access: { scope: text } });
    expect(scope('email moorage:operate profile')).toMatchObject({ scope: 'operate', namespaces: null });
    expect(scope(['read', 'admin', 'submit'])).toMatchObject({ scope: 'admin' });
    expect(scope('superuser')).toMatchObject({ scope: 'read' });
    expect(scope('admin', ['a'])).toMatchObject({ scope: 'submit', namespaces: ['a'] });
    expect(scope(undefined)).toMatchObject({ scope: 'read' });
    const without = { ...PROVIDER };
    delete (without as { scopeClaim?: string }).scopeClaim;
    expect(personOfClaims(without, { sub: 'a', groups: '*', scope: 'admin' }, 0)).toMatchObject({
      scope: 'read',
    });
  });

  it('a claim whose name has dots comes before a path', () => {
    const claims = { 'https://a.b/ns': ['one'], https: { x: ['two'] } };
    expect(of(claims, { namespacesClaim: 'https://a.b/ns' })).toMatchObject({ namespaces: ['one'] });
    expect(of(claims, { namespacesClaim: 'https.x' })).toMatchObject({ namespaces: ['two'] });
    expect(of(claims, { namespacesClaim: 'https.constructor.name' })).toContain('names no namespace');
  });
});

it.each([
  ['https://login.example.org', true],
  ['https://login.example.org/realms/x/', true],
  ['http://127.0.0.1:8080/realm', true],
  ['http://[::1]:8080', true],
  ['http://login.example.org', false],
  ['http://127.0.0.1.example.org', false],
  ['https://user@login.example.org', false],
  ['https://login.example.org?x', false],
  ['ftp://login.example.org', false],
])('an issuer %s: %s', (text, is) => expect(isIssuer(text)).toBe(is));

it('keys are read in the clear on this machine alone, and only for an issuer there', () => {
  expect(mayHoldKeys('https://keys.example.org/k?p=1', 'https://login.example.org')).toBe(true);
  expect(mayHoldKeys('http://127.0.0.1/keys', 'https://login.example.org')).toBe(false);
  expect(mayHoldKeys('http://127.0.0.1/keys', 'http://127.0.0.1')).toBe(true);
  expect(mayHoldKeys('http://10.0.0.1/keys', 'http://127.0.0.1')).toBe(false);
});

it('no token of the cell is taken for one of a provider', () => {
  expect(isJsonWebToken('eyJhbGciOiJub25lIn0.e30.')).toBe(true);
  expect(isJsonWebToken(`moorage.${'0'.repeat(26)}.${'a'.repeat(64)}`)).toBe(false);
  expect(isJsonWebToken('eyJ.x')).toBe(false);
});
