import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { certificatesIn, identityOf } from '../../../../src/adapters/pki/certified.ts';
import {
  HostKeyError,
  hostKeyCertificate,
  openHostKey,
  sealSecret,
  secretOpener,
} from '../../../../src/adapters/pki/host-key.ts';
import { seal, unseal } from '../../../../src/adapters/pki/sealed-box.ts';
import { secretLabel } from '../../../../src/core/access/secret.ts';
import { bundleCodec } from '../../../../src/wire/records/records.ts';
import { HOUR_MS, TestAuthority } from '../../../support/credentials.ts';

const OF = { cell: 'c1', namespace: 'team-a', name: 'db-password' };

let authority: TestAuthority;
beforeAll(async () => {
  authority = await TestAuthority.of('c1');
});
afterAll(() => authority[Symbol.dispose]());

/** What a person's program has: what a monitor shows, and whom it trusts. */
async function shown(): Promise<{ shown: string; authorities: string; nowMs: number }> {
  const monitor = await authority.credentials('monitor', 'm1');
  const { certificate } = await authority.folder.keyPair();
  return { shown: hostKeyCertificate(monitor) ?? '', authorities: certificate, nowMs: Date.now() };
}

describe('a sealed box', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  it('opens with its key and its label, and with no other', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 9_000 }), fc.string(), fc.string(), (plain, label, other) => {
        const text = seal(publicKey, plain, label);
        expect(unseal(privateKey, text, label)?.equals(plain)).toBe(true);
        if (label !== other) expect(unseal(privateKey, text, other)).toBeNull();
        expect(seal(publicKey, plain, label)).not.toBe(text);
      }),
      { numRuns: 50 },
    );
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    expect(unseal(stranger, seal(publicKey, Buffer.from('x'), 'l'), 'l')).toBeNull();
  });

  it('does not open when anything of it is altered', () => {
    const text = seal(publicKey, Buffer.from('a horse'), 'label');
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...'AZaz09-_.'), (at, char) => {
        fc.pre(text[at] !== char);
        const opened = unseal(privateKey, text.slice(0, at) + char + text.slice(at + 1), 'label');
        // The last character of a part has bits that no byte comes of.
        expect(opened === null || opened.toString() === 'a horse').toBe(true);
        expect(unseal(privateKey, text.slice(0, at), 'label')).toBeNull();
      }),
    );
  });
});

describe('the key of all hosts', () => {
  it('opens on every host what was sealed, one that joins later too, as this secret and no other', async () => {
    const sealed = sealSecret('a horse', OF, await shown());
    expect(sealed).not.toContain('horse');
    for (const host of ['h1', 'h2']) {
      const open = secretOpener(await authority.credentials('agent', host));
      expect(open?.(OF, sealed)).toBe('a horse');
      for (const other of [
        { ...OF, namespace: 'team-b' },
        { ...OF, name: 'other' },
      ])
        expect(open?.(other, sealed)).toBeNull();
      expect(open?.(OF, '')).toBeNull();
    }
  });

  it('is in the folders of agents alone, for their owner; its certificate is no identity', async () => {
    for (const role of ['scheduler', 'monitor', 'arbiter', 'operator', 'etcd'] as const)
      expect(secretOpener(await authority.credentials(role, 'x'))).toBeNull();
    for (const role of ['scheduler', 'agent', 'arbiter', 'operator', 'etcd'] as const)
      expect(hostKeyCertificate(await authority.credentials(role, 'x'))).toBeNull();
    const folder = await authority.issue('agent', 'h3');
    expect(statSync(join(folder, 'hosts.key')).mode & 0o777).toBe(0o600);
    const [certificate] = certificatesIn((await shown()).shown);
    expect(certificate === undefined ? undefined : identityOf(certificate)).toBeNull();
  });

  it('is one, however many certificates are issued at once', async () => {
    using fresh = await TestAuthority.of('c1');
    const folders = await Promise.all(['h1', 'h2', 'h3', 'h4'].map((id) => fresh.issue('agent', id)));
    const keys = folders.map((folder) => readFileSync(join(folder, 'hosts.key'), 'utf8'));
    expect(new Set(keys).size).toBe(1);
  });

  it('comes to a host that joins, and whoever passes it on cannot read it', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const times = { nowMs: Date.now(), ttlMs: HOUR_MS, hosts: ['127.0.0.1'] };
    const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const issued = await authority.folder.issueFor(
      { role: 'agent', id: 'h9' },
      { ...times, publicKey: spki },
    );
    const { text } = await authority.folder.bundle(issued, { pinnedKeys: 'k', etcd: [] });
    const { hostKey = '' } = bundleCodec.decode(text);
    const own = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const key = readFileSync(join(await authority.issue('agent', 'h1'), 'hosts.key'), 'utf8');
    expect(text).not.toContain('PRIVATE KEY');
    expect(openHostKey(hostKey, own)).toBe(key);
    expect(openHostKey(hostKey, key)).toBeNull();
    const renewed = await authority.folder.bundle(issued, { pinnedKeys: '', etcd: [] });
    expect(bundleCodec.decode(renewed.text)).not.toHaveProperty('hostKey');
    const monitor = await authority.folder.issueFor(
      { role: 'monitor', id: 'm9' },
      { ...times, publicKey: spki },
    );
    const shownThere = await authority.folder.bundle(monitor, { pinnedKeys: '', etcd: [] });
    const { hostCertificate = '' } = bundleCodec.decode(shownThere.text);
    const sealed = sealSecret('a horse', OF, { ...(await shown()), shown: hostCertificate });
    expect(secretOpener(await authority.credentials('agent', 'h1'))?.(OF, sealed)).toBe('a horse');
  });

  it('is not taken from whoever shows another certificate', async () => {
    using other = await TestAuthority.of('c1');
    using elsewhere = await TestAuthority.of('c2');
    const right = await shown();
    const identity = readFileSync(join(await authority.issue('agent', 'h1'), 'identity.pem'), 'utf8');
    for (const certificate of [
      hostKeyCertificate(await other.credentials('monitor', 'm1')) ?? '',
      hostKeyCertificate(await elsewhere.credentials('monitor', 'm1')) ?? '',
      identity.slice(identity.indexOf('-----BEGIN CERTIFICATE')),
      'nonsense',
      '',
    ])
      expect(() => sealSecret('a horse', OF, { ...right, shown: certificate })).toThrow(HostKeyError);
    const over = right.nowMs + 20 * 366 * 24 * HOUR_MS;
    expect(() => sealSecret('a horse', OF, { ...right, nowMs: over })).toThrow('has ended');
  });

  it('stays the same through a change of the authority, which certifies it anew', async () => {
    using changing = await TestAuthority.of('c1');
    const before = secretOpener(await changing.credentials('agent', 'h1'));
    await changing.issue('monitor', 'm1');
    for (const at of ['trusted', 'renewed', 'none'])
      expect((await changing.folder.rotate({ nowMs: Date.now(), ttlMs: HOUR_MS })).at).toBe(at);
    const certificate = readFileSync(
      join(changing.folder.folderOf({ role: 'monitor', id: 'm1' }), 'hosts.pem'),
      'utf8',
    );
    const { certificate: authorities } = await changing.folder.keyPair();
    const sealed = sealSecret('a horse', OF, { shown: certificate, authorities, nowMs: Date.now() });
    expect(before?.(OF, sealed)).toBe('a horse');
  });
});

it('a label has one spelling', () => {
  expect(secretLabel('c', 'a', 'b')).not.toBe(secretLabel('c', 'a-b', ''));
});
