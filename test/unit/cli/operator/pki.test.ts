import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { init, issue, rotate, show } from '../../../../cli/operator/pki.ts';
import { readCredentials } from '../../../../src/connect/credentials.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-authority-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function world(output: 'table' | 'name' = 'table') {
  return fakeContext(new FakeHttp({}), ['http://unused'], output);
}

const ISSUE = { role: 'scheduler', id: 's1', san: ['10.0.0.2,s1.example'] } as const;

describe('moorage pki', () => {
  it('makes an authority once, and keys that nobody else can read', async () => {
    const { context, terminal } = world();
    expect(await init(context, folder, 'prod')).toBe(0);
    const key = readFileSync(join(folder, 'ca.key'), 'utf8');
    expect(statSync(join(folder, 'ca.key')).mode & 0o777).toBe(0o600);
    const authority = new X509Certificate(readFileSync(join(folder, 'ca.pem')));
    expect(authority.ca).toBe(true);
    expect(Date.parse(authority.validTo) - terminal.nowMs()).toBeGreaterThan(9.9 * 365 * 86_400_000);
    await init(context, folder, 'prod');
    expect(readFileSync(join(folder, 'ca.key'), 'utf8')).toBe(key);
    await expect(init(context, folder, 'other')).rejects.toThrow('is the authority of cell prod already');
  });

  it('issues a certificate for a day, with role, id and addresses, that a role can show', async () => {
    const { context, terminal } = world();
    await init(context, folder, 'prod');
    expect(await issue(context, folder, ISSUE)).toBe(0);
    const made = terminal.stdout.trim().split('\n').at(-1) ?? '';
    expect(statSync(join(made, 'identity.pem')).mode & 0o777).toBe(0o600);
    const certificate = new X509Certificate(readFileSync(join(made, 'identity.pem')));
    expect(certificate.subjectAltName).toBe(
      'URI:spiffe://prod/scheduler/s1, IP Address:10.0.0.2, DNS:s1.example',
    );
    expect(certificate.ca).toBe(false);
    const lifeMs = Date.parse(certificate.validTo) - terminal.nowMs();
    expect(Math.abs(lifeMs - 86_400_000)).toBeLessThan(2_000);
    const authority = new X509Certificate(readFileSync(join(made, 'ca.pem')));
    expect(certificate.verify(authority.publicKey)).toBe(true);
    const { identity } = readCredentials(made, null);
    expect(identity).toEqual({ cell: 'prod', role: 'scheduler', id: 's1' });
  });

  it('issues again under another key, and shows what there is', async () => {
    const { context } = world();
    await init(context, folder, 'prod');
    await issue(context, folder, ISSUE);
    const file = join(folder, 'issued', 'scheduler-s1', 'identity.pem');
    const before = readFileSync(file, 'utf8');
    await issue(context, folder, ISSUE);
    expect(readFileSync(file, 'utf8')).not.toBe(before);
    await issue(context, folder, { role: 'etcd', id: 'a', san: [] });
    const named = world('name');
    await show(named.context, folder);
    expect(named.terminal.stdout).toBe('spiffe://prod/etcd/a\nspiffe://prod/scheduler/s1\n');
    const store = new X509Certificate(readFileSync(join(folder, 'issued', 'etcd-a', 'identity.pem')));
    expect(store.subjectAltName).toContain('DNS:etcd.prod');
  });

  it.each([
    ['a role that there is not', { ...ISSUE, role: 'root' }, /name one of scheduler, agent/],
    ['an id that is none', { ...ISSUE, id: 'S 1' }, /lower-case/],
    ['a time without a unit', { ...ISSUE, ttl: '24' }, /needs a unit/],
    ['a life of nothing', { ...ISSUE, ttl: '0s' }, /must not be zero/],
  ])('refuses %s', async (_what, flags, message) => {
    const { context } = world();
    await init(context, folder, 'prod');
    await expect(issue(context, folder, flags)).rejects.toThrow(message);
  });

  it('says where an authority is missing, and how to make one', async () => {
    const { context } = world();
    await expect(issue(context, folder, ISSUE)).rejects.toThrow('there is no authority');
    await expect(show(context, folder)).rejects.toThrow('moorage pki init');
    expect(() => readCredentials(folder, null)).toThrow('moorage pki issue makes it');
  });

  it('changes to another authority in three steps, each of which trusts whom the one before it issued', async () => {
    const { context, terminal } = world();
    await init(context, folder, 'prod');
    await issue(context, folder, ISSUE);
    const made = join(folder, 'issued', 'scheduler-s1');
    const first = readFileSync(join(folder, 'ca.pem'), 'utf8').trim();
    const trusted = (): readonly string[] =>
      readFileSync(join(made, 'ca.pem'), 'utf8')
        .trim()
        .split(/(?<=-----END CERTIFICATE-----)\n/);
    const signer = (): string | undefined => {
      const certificate = new X509Certificate(readFileSync(join(made, 'identity.pem')));
      return trusted().find((one) => certificate.verify(new X509Certificate(one).publicKey));
    };
    expect(await rotate(context, folder)).toBe(0);
    expect(trusted()).toHaveLength(2);
    expect(signer()).toBe(first);
    const both = trusted();
    await rotate(context, folder);
    expect(trusted()).toEqual(both);
    expect(signer()).not.toBe(first);
    expect(terminal.stdout).toContain(made);
    await rotate(context, folder);
    expect(trusted()).toEqual([both[1]]);
    expect(signer()).toBe(both[1]);
    expect(statSync(join(folder, 'ca.key')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(['ca.key', 'ca.pem', 'issued']);
  });

  it('goes on where a step was cut off between the new certificate and its key', async () => {
    const { context } = world();
    await init(context, folder, 'prod');
    await issue(context, folder, ISSUE);
    await rotate(context, folder);
    copyFileSync(join(folder, 'ca.pem'), join(folder, 'previous.pem'));
    renameSync(join(folder, 'next.pem'), join(folder, 'ca.pem'));
    await rotate(context, folder);
    const authority = new X509Certificate(readFileSync(join(folder, 'ca.pem')));
    const certificate = new X509Certificate(
      readFileSync(join(folder, 'issued', 'scheduler-s1', 'identity.pem')),
    );
    expect(certificate.verify(authority.publicKey)).toBe(true);
  });
});
