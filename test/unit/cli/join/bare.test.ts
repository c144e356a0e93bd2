import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptHost, BareHost } from '../../../../cli/bootstrap/bare-hosts.ts';
import { untilAdopted } from '../../../../cli/join/bare.ts';
import { JoinedFolder } from '../../../../cli/join/joined-folder.ts';
import { openCredentials } from '../../../../src/adapters/pki/credentials.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { BareToken } from '../../../../src/core/access/invitation.ts';
import { readBareToken } from '../../../../src/core/access/invitation.ts';
import { HOUR_MS, TestAuthority } from '../../../support/credentials.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

describe('S4.8 a bare machine', () => {
  let data: string;
  let authority: TestAuthority;
  let leave: AbortController;
  let waiting: Promise<boolean>;
  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), 'moorage-bare-'));
    authority = await TestAuthority.of('c');
    leave = new AbortController();
  });
  afterEach(async () => {
    leave.abort();
    await waiting;
    authority[Symbol.dispose]();
    rmSync(data, { recursive: true });
  });

  /** @returns its token */
  async function wait(): Promise<BareToken> {
    const { context, terminal } = fakeContext(new FakeHttp({}), ['http://unused']);
    const listen = { host: '127.0.0.1', port: 0 };
    // Certificates are of now.
    terminal.nowMs = () => Date.now();
    waiting = untilAdopted(
      { ...context, interrupted: leave.signal },
      { id: 'a', data, listen, log: silentLog },
    );
    for (;;) {
      const token = readBareToken(terminal.stdout);
      if (token !== null) return token;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const HOLDERS = [{ role: 'agent', id: 'a' } as const, { role: 'arbiter', id: 'a' } as const];
  async function adopt(bare: BareHost): Promise<void> {
    const machine = await bare.keys(['arbiter-a']);
    await adoptHost(bare, machine, authority.folder, {
      ...{ host: 'a', holders: HOLDERS, address: '127.0.0.1', pinnedKeys: 'k4.public.x\n' },
      ...{
        etcd: ['https://127.0.0.1:2379'],
        arbiterSecret: 'k4.secret.x',
        nowMs: Date.now(),
        ttlMs: HOUR_MS,
      },
    });
  }

  it('is made a host by whoever has its token, with keys that never leave it', async () => {
    await adopt(await BareHost.at(await wait()));
    expect(await waiting).toBe(true);
    const folder = new JoinedFolder(data);
    expect(folder.read()).toMatchObject({ id: 'a', cell: 'c', allow: ['host-network', 'root', 'system'] });
    expect(openCredentials(folder.credentials, null).identity).toEqual({ cell: 'c', role: 'agent', id: 'a' });
    expect(folder.roles()).toEqual([folder.role('arbiter-a')]);
    expect(openCredentials(folder.role('arbiter-a'), null).identity.role).toBe('arbiter');
    const secret = join(folder.keys, 'arbiter.secret');
    expect([readFileSync(secret, 'utf8'), statSync(secret).mode & 0o777]).toEqual(['k4.secret.x\n', 0o600]);
    for (const { folder: issued } of await authority.folder.issued())
      expect(readFileSync(join(issued, 'identity.pem'), 'utf8')).not.toContain('PRIVATE KEY');
  });

  it('has the same token after a restart', async () => {
    const token = await wait();
    leave.abort();
    expect(await waiting).toBe(false);
    leave = new AbortController();
    expect({ ...(await wait()), monitors: [] }).toEqual({ ...token, monitors: [] });
  });

  it('does nothing for who has another secret, and is known by its fingerprint', async () => {
    const token = await wait();
    const last = token.shown.at(-1) ?? '';
    const other = { ...token, shown: token.shown.slice(0, -1) + (last === '0' ? '1' : '0') };
    await expect(adopt(await BareHost.at(other))).rejects.toThrow('this token was never made');
    const print = token.fingerprints[0]?.replace(/^../, (two) => (two === '00' ? '11' : '00')) ?? '';
    await expect(BareHost.at({ ...token, fingerprints: [print] })).rejects.toThrow(
      'is another one than the token names',
    );
  });

  it('takes no certificate of another host', async () => {
    const bare = await BareHost.at(await wait());
    const machine = await bare.keys([]);
    const keys = { ...machine, publicKeys: { 'agent-b': machine.publicKeys['agent-a'] ?? '' } };
    const adoption = adoptHost(bare, keys, authority.folder, {
      ...{
        host: 'a',
        holders: [{ role: 'agent', id: 'b' }],
        address: '127.0.0.1',
        pinnedKeys: '',
        etcd: ['x'],
      },
      ...{ arbiterSecret: null, nowMs: Date.now(), ttlMs: HOUR_MS },
    });
    await expect(adoption).rejects.toThrow('this machine is a');
  });
});
