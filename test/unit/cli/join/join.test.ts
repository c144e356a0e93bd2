import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeRenewal } from '../../../../cli/join/renewal.ts';
import { JoinedFolder } from '../../../../cli/join/joined-folder.ts';
import { Signer } from '../../../../cli/operator/sign.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { isProved, openBundle, requestFor } from '../../../../src/adapters/pki/bundle.ts';
import { identityIn } from '../../../../src/adapters/pki/certified.ts';
import { openCredentials } from '../../../../src/adapters/pki/credentials.ts';
import type { Invitation, SignedBundle } from '../../../../src/core/access/invitation.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import type { Write } from '../../../../src/ports/cell-store.ts';
import { invitationCodec, signedBundleCodec } from '../../../../src/wire/records/records.ts';
import { HOUR_MS, TestAuthority } from '../../../support/credentials.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const KEYS = cellKeys('c');
const DAY_MS = 24 * HOUR_MS;

describe('S4.13 I65 a machine with a key of its own', () => {
  let authority: TestAuthority;
  let store: MemoryCellStore;
  let signer: Signer;
  let data: string;
  let nowMs: number;
  const events: string[] = [];
  beforeEach(async () => {
    authority = await TestAuthority.of('c', 3_652 * DAY_MS);
    const clock = new ManualClock();
    store = new MemoryCellStore({ clock, cell: new MemoryCell({ clock }) });
    data = mkdtempSync(join(tmpdir(), 'moorage-joined-'));
    nowMs = Date.now();
    events.splice(0);
    signer = new Signer({
      ...{ authority: authority.folder, store, keys: KEYS, ttlMs: DAY_MS, nowMs: () => nowMs },
      more: { pinnedKeys: 'k4.public.x\n', etcd: ['https://10.0.0.1:2379'] },
      onEvent: (text) => events.push(text),
    });
  });
  afterEach(() => {
    authority[Symbol.dispose]();
    rmSync(data, { recursive: true });
  });

  async function put(key: string, value: string): Promise<void> {
    const writes: readonly Write[] = [{ kind: 'put', key, value }];
    await store.attempt({ compares: [], writes, readBack: [] });
  }
  async function read<T>(key: string, codec: { decode(text: string): T }): Promise<T | null> {
    const entry = (await store.read([key])).entries.get(key);
    return entry === undefined ? null : codec.decode(entry.value);
  }
  const ask = (key: string, more: Partial<Invitation> = {}): Promise<void> =>
    put(
      KEYS.invitation('i1'),
      invitationCodec.encode({
        ...{ id: 'i1', host: 'host-b', hosts: ['10.0.0.2'], hash: '', createdBy: 'operator/ann' },
        ...{
          createdAtMs: nowMs,
          endsAtMs: nowMs + HOUR_MS,
          asked: { ...requestFor(key, 'i1'), atMs: nowMs },
        },
        ...more,
      }),
    );
  const answered = async (): Promise<SignedBundle | undefined> =>
    (await read(KEYS.invitation('i1'), invitationCodec))?.answer;
  const trusted = (): string => readFileSync(join(authority.path, 'ca.pem'), 'utf8');

  async function joined(): Promise<{ readonly folder: JoinedFolder; readonly key: string }> {
    const folder = new JoinedFolder(data);
    const key = await folder.key();
    await ask(key);
    await signer.look();
    const answer = await answered();
    if (answer === undefined) throw new Error(events.join('\n'));
    await folder.write(openBundle(answer, trusted()), key, { listen: '10.0.0.2:7403' });
    return { folder, key };
  }
  async function renewed(): Promise<SignedBundle> {
    await signer.look();
    const found = await read(KEYS.certificate('agent', 'host-b'), signedBundleCodec);
    if (found === null) throw new Error('nothing was renewed');
    return found;
  }
  const untilOf = (folder: string): number =>
    Date.parse(new X509Certificate(readFileSync(join(folder, 'identity.pem'))).validTo);

  it('asks with the same key however often it is interrupted', async () => {
    expect(await new JoinedFolder(data).key()).toBe(await new JoinedFolder(data).key());
  });

  it('gets a certificate of its id and address, and files that nobody else reads', async () => {
    const { folder } = await joined();
    const { identity, now } = openCredentials(folder.credentials, null);
    expect(identity).toEqual({ cell: 'c', role: 'agent', id: 'host-b' });
    const names = new X509Certificate(now.certificate).subjectAltName;
    expect(names).toBe('URI:spiffe://c/agent/host-b, IP Address:10.0.0.2');
    expect(folder.read()).toMatchObject({ id: 'host-b', cell: 'c', etcd: ['https://10.0.0.1:2379'] });
    for (const file of [
      'host.json',
      'credentials/identity.pem',
      'credentials/ca.pem',
      'keys/arbiters.public',
    ])
      expect(statSync(join(data, 'joined', file)).mode & 0o777).toBe(0o600);
    expect(events).toEqual(['issued: agent host-b at 10.0.0.2, as operator/ann invited it']);
  });

  it('gets one certificate, however often the request is looked at', async () => {
    await joined();
    const first = await answered();
    await signer.look();
    expect(await answered()).toEqual(first);
  });

  it.each([
    ['whose request another key signed', { asked: { publicKey: 'other', proof: '', atMs: 0 } }],
    ['that came too late', { endsAtMs: 0 }],
    ['with a name that is none', { host: 'a/b' }],
  ] as const)('gets none: %s', async (_what, more) => {
    const key = await new JoinedFolder(data).key();
    await ask(key, more);
    await signer.look();
    expect(await answered()).toBeUndefined();
    expect(events[0]).toContain('refused');
  });

  it('a request is not proved by the signature of another invitation, nor by what is no key', () => {
    const key = otherKey();
    const request = requestFor(key, 'i1');
    expect(isProved(request, 'i1')).toBe(true);
    expect(isProved(request, 'i2')).toBe(false);
    expect(isProved({ ...request, publicKey: 'x' }, 'i1')).toBe(false);
  });

  it('trusts nothing that the authority did not sign', async () => {
    const { folder } = await joined();
    const answer = await answered();
    if (answer === undefined) throw new Error('no answer');
    const altered = { ...answer, text: answer.text.replace('10.0.0.1', '10.0.0.9') };
    expect(() => openBundle(altered, trusted())).toThrow('not signed by the authority');
    using other = await TestAuthority.of('c');
    const foreign = readFileSync(join(other.path, 'ca.pem'), 'utf8');
    expect(() => openBundle(answer, foreign)).toThrow('not signed by the authority');
    await expect(takeRenewal(folder.credentials, altered)).rejects.toThrow('not signed by the authority');
  });

  it('has its certificate renewed after a third of its time, of the same key, and takes nothing older', async () => {
    const { folder } = await joined();
    const first = await renewed();
    nowMs += DAY_MS / 3 - 60_000;
    expect(await renewed()).toEqual(first);
    expect(await takeRenewal(folder.credentials, first)).toBe(false);
    const untilMs = untilOf(folder.credentials);
    nowMs += 120_000;
    const second = await renewed();
    expect(await takeRenewal(folder.credentials, second)).toBe(true);
    expect(untilOf(folder.credentials)).toBeGreaterThan(untilMs + DAY_MS / 3 - 60_000);
    expect(openCredentials(folder.credentials, null).identity.id).toBe('host-b');
    expect(await takeRenewal(folder.credentials, first)).toBe(false);
  });

  it('has no certificate renewed that has expired, and takes none of another key', async () => {
    const { folder } = await joined();
    await renewed();
    const before = await read(KEYS.certificate('agent', 'host-b'), signedBundleCodec);
    nowMs += DAY_MS + 60_000;
    await signer.look();
    expect(await read(KEYS.certificate('agent', 'host-b'), signedBundleCodec)).toEqual(before);
    nowMs -= DAY_MS;
    await ask(otherKey());
    await signer.look();
    nowMs += DAY_MS / 2;
    expect(await takeRenewal(folder.credentials, await renewed())).toBe(false);
  });

  it('follows its cell to another authority', async () => {
    const { folder } = await joined();
    for (let step = 0; step < 3; step++) {
      await authority.folder.rotate({ nowMs, ttlMs: DAY_MS });
      expect(await takeRenewal(folder.credentials, await renewed())).toBe(true);
      const { now } = openCredentials(folder.credentials, null);
      expect(identityIn(new X509Certificate(now.certificate).subjectAltName)?.id).toBe('host-b');
    }
    const certificate = new X509Certificate(readFileSync(join(folder.credentials, 'identity.pem')));
    expect(certificate.verify(new X509Certificate(trusted()).publicKey)).toBe(true);
    expect(readFileSync(join(folder.credentials, 'ca.pem'), 'utf8')).toBe(`${trusted().trimEnd()}\n`);
  });

  it('a copy of the key is of no use once it is taken from what was issued', async () => {
    const { folder } = await joined();
    await renewed();
    cpSync(folder.credentials, join(data, 'stolen'), { recursive: true });
    rmSync(authority.folder.folderOf({ role: 'agent', id: 'host-b' }), { recursive: true });
    nowMs += DAY_MS / 2;
    expect(await takeRenewal(join(data, 'stolen'), await renewed())).toBe(false);
  });
});

function otherKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
