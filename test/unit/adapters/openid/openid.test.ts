import { createHmac } from 'node:crypto';
import { exportSPKI, importJWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JoseOpenIdTokens } from '../../../../src/adapters/openid/openid.ts';
import type { OpenIdProvider } from '../../../../src/core/access/openid.ts';
import type { Log, LogFields } from '../../../../src/ports/telemetry.ts';
import { TestAuthority } from '../../../support/credentials.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { AUDIENCE, OpenIdProviderServer } from '../../../support/openid-provider.ts';

const HOUR_MS = 3_600_000;
const UNKNOWN_KEY = 'is signed by a key that is not among those of its provider, as last read';

let provider: OpenIdProviderServer;
let clock: ManualClock;
let tokens: JoseOpenIdTokens;
let lines: string[];

const log = new Proxy({} as Log, {
  get: () => (_fields: LogFields, message: string) => void lines.push(message),
});

function known(more: Partial<OpenIdProvider> = {}): OpenIdProvider {
  return {
    ...{ name: 'corp', issuer: provider.issuer, audience: AUDIENCE, namespacesClaim: 'groups' },
    ...{ setBy: 'x', setAtMs: 0, ...more },
  };
}

beforeEach(async () => {
  provider = await OpenIdProviderServer.start();
  clock = new ManualClock(Date.now());
  lines = [];
  tokens = new JoseOpenIdTokens({ clock, log });
  tokens.use([known()]);
  await clock.advance(0);
});
afterEach(async () => {
  await tokens.close();
  await provider.close();
});

/** As a monitor that has just started. */
function readAnew(): void {
  tokens.use([]);
  provider.asked.length = 0;
  tokens.use([known()]);
}

async function why(token: string): Promise<string> {
  const verdict = await tokens.verify(token);
  return verdict.counts ? 'counts' : verdict.why;
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

describe('S4.13 tokens of an OpenID provider', () => {
  it.each(['RS256', 'PS384', 'ES256', 'ES384', 'EdDSA'])('count, signed with %s', async (alg) => {
    await provider.rotate(alg);
    readAnew();
    const verdict = await tokens.verify(await provider.sign({ groups: ['a'] }));
    expect(verdict).toMatchObject({ counts: true, claims: { sub: 'ann', groups: ['a'] } });
    expect(provider.asked).toEqual(['/realm/.well-known/openid-configuration', '/realm/keys']);
    await tokens.verify(await provider.sign({ sub: 'bob' }));
    expect(provider.asked).toHaveLength(2);
    expect(tokens.keysOf(provider.issuer)).toMatchObject({ count: 1, fault: null });
  });

  it('count for one of several audiences, and say which', async () => {
    tokens.use([known(), known({ name: 'other', audience: 'second', namespacesClaim: 'x' })]);
    const verdict = await tokens.verify(await provider.sign({ aud: ['third', 'second'] }));
    expect(verdict).toMatchObject({ counts: true, provider: { name: 'other' } });
    expect(provider.asked).toHaveLength(2);
  });

  it.each<[string, (sign: OpenIdProviderServer['sign']) => Promise<string>, string]>([
    [
      'another issuer',
      (sign) => sign({ iss: 'https://elsewhere.example' }),
      'is of an issuer that is no provider of this cell',
    ],
    [
      'no issuer',
      (sign) => sign({ iss: undefined as never }),
      'is of an issuer that is no provider of this cell',
    ],
    ['another audience', (sign) => sign({ aud: 'billing' }), 'is for another audience'],
    ['a longer audience', (sign) => sign({ aud: `${AUDIENCE}2` }), 'is for another audience'],
    ['one that has ended', (sign) => sign({}, { forS: -6 }), 'has ended'],
    [
      'one that has not begun',
      (sign) => sign({ nbf: Math.floor(Date.now() / 1000) + 60 }),
      'does not count yet',
    ],
    ['one without an end', (sign) => sign({ exp: undefined as never }), 'has no claim exp that counts'],
    ['one of nobody', (sign) => sign({ sub: undefined as never }), 'has no claim sub that counts'],
    ['one of a logout', (sign) => sign({}, { typ: 'logout+jwt' }), 'is of a type for something else'],
  ])('%s does not count', async (_what, made, reason) => {
    expect(await why(await made((...args) => provider.sign(...args)))).toBe(reason);
  });

  it('one within the tolerance of clocks counts, to the end of that', async () => {
    const verdict = await tokens.verify(await provider.sign({}, { forS: -1 }));
    expect(verdict.counts && verdict.endsAtMs - clock.nowMs()).toBeGreaterThan(1_000);
  });

  it('no signature, one with the public key as a shared secret, an altered text, and what is none', async () => {
    const token = await provider.sign({ groups: ['*'] });
    const [head = '', body = '', signature = ''] = token.split('.');
    const { kid, publicJwk } = provider.keys[0]!;
    const unsigned = `${part({ alg: 'none', kid })}.${body}`;
    expect(await why(`${unsigned}.`)).toBe('is not signed as by a pair of keys');
    const pem = await exportSPKI((await importJWK(publicJwk, 'ES256')) as never);
    const shared = `${part({ alg: 'HS256', kid, typ: 'JWT' })}.${body}`;
    const mac = createHmac('sha256', pem).update(shared).digest('base64url');
    expect(await why(`${shared}.${mac}`)).toBe('is not signed as by a pair of keys');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
    expect(await why(`${head}.${part({ ...claims, sub: 'root' })}.${signature}`)).toBe(
      'has a signature that is wrong',
    );
    for (const text of [
      'eyJ.x.',
      `eyJ${head}.${body}.${signature}`,
      `${head}.e30.${signature}`,
      `${head}.${body}.`,
    ])
      expect(await why(text)).not.toBe('counts');
    expect(await why(`${part({ alg: 'ES256', kid, crit: ['x'], x: 1 })}.${body}.${signature}`)).toBe(
      'is no JSON Web Token',
    );
  });

  it('a key that its provider put in the place of another is read when a token comes, the other one then refused', async () => {
    const before = await provider.sign({});
    expect(await why(before)).toBe('counts');
    const rotated = await provider.rotate();
    await clock.advance(1);
    expect(await why(await provider.sign({}, { key: rotated }))).toBe(UNKNOWN_KEY);
    // Not so soon after the last time: whoever makes keys up does not make a monitor ask for each.
    expect(provider.asked).toHaveLength(2);
    await clock.advance(300_000);
    await until(() => provider.asked.length === 4 && tokens.keysOf(provider.issuer).fault === null);
    await until(async () => (await why(await provider.sign({}))) === 'counts');
    expect(await why(before)).toBe(UNKNOWN_KEY);
  });

  it('while the provider is away known keys go on, an unknown one is refused at once, with one line in the log', async () => {
    const good = await provider.sign({});
    expect(await why(good)).toBe('counts');
    const { key } = { key: provider.keys[0]! };
    provider.mode = 'hangs';
    await clock.advance(300_000);
    await until(() => tokens.keysOf(provider.issuer).fault !== null);
    const strange = await provider.sign({}, { key: { ...key, kid: 'made-up' } });
    const [known, unknown] = await Promise.all([tokens.verify(good), tokens.verify(strange)]);
    expect([known.counts, unknown]).toEqual([true, { counts: false, isSure: true, why: UNKNOWN_KEY }]);
    expect(lines).toHaveLength(1);
    provider.mode = 'answers';
    await clock.advance(300_000);
    await until(() => tokens.keysOf(provider.issuer).fault === null);
    expect(lines).toEqual([expect.stringContaining('cannot be read'), expect.stringContaining('again')]);
  });

  it('whose keys were never read, or not for a day, cannot be told', async () => {
    const good = await provider.sign({});
    await why(good);
    provider.mode = 'fails';
    for (let hour = 0; hour < 25; hour++) await clock.advance(HOUR_MS);
    await until(() => tokens.keysOf(provider.issuer).fault !== null);
    const late = await provider.sign({ exp: Math.floor(clock.nowMs() / 1000) + 600 });
    expect(await tokens.verify(late)).toMatchObject({ counts: false, isSure: false });
  });

  it.each([
    ['another issuer', { issuer: 'https://elsewhere.example' }],
    ['keys in the clear elsewhere', { jwks_uri: 'http://10.1.1.1/keys' }],
    ['no keys', { jwks_uri: 7 }],
  ])('a configuration that names %s is taken for no configuration', async (_what, configuration) => {
    provider.configuration = configuration;
    readAnew();
    expect(await tokens.verify(await provider.sign({}))).toMatchObject({ counts: false, isSure: false });
    expect(provider.asked).toEqual(['/realm/.well-known/openid-configuration']);
  });

  it('over TLS the server is known by the authorities that are named, and by no others', async () => {
    using authority = await TestAuthority.of('idp');
    const { now } = await authority.credentials('monitor', 'idp');
    const secure = await OpenIdProviderServer.start({ key: now.key, cert: now.certificate });
    try {
      const [issuer, authorities] = [secure.issuer, now.authorities];
      tokens.use([known({ issuer })]);
      expect(await tokens.verify(await secure.sign({}))).toMatchObject({ counts: false, isSure: false });
      tokens.use([known({ issuer, authorities })]);
      expect(await why(await secure.sign({}))).toBe('counts');
    } finally {
      await secure.close();
    }
  });

  it('count no more when the cell has their provider no longer', async () => {
    const token = await provider.sign({});
    expect(await why(token)).toBe('counts');
    tokens.use([]);
    expect(await why(token)).toBe('is of an issuer that is no provider of this cell');
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
