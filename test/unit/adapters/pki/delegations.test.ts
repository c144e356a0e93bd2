import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Credentials } from '../../../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../../../src/adapters/pki/credentials.ts';
import { issue } from '../../../../src/adapters/pki/authority.ts';
import { delegationOpener, delegationSigner } from '../../../../src/adapters/pki/delegations.ts';
import type { Delegation } from '../../../../src/core/access/delegation.ts';
import type { OpenDelegation } from '../../../../src/ports/crypto.ts';
import { HOUR_MS, LOOPBACK_HOSTS, TestAuthority } from '../../../support/credentials.ts';

const DELEGATION: Delegation = {
  ...{ by: 'token/ann', host: 'h1', allocation: 'a1', act: 'exec', request: 'ab'.repeat(32) },
  ...{ notBeforeMs: 1_000, expiresMs: 2_000 },
};

let authority: TestAuthority;
let monitor: Credentials;
let open: OpenDelegation;
let nowMs = Date.now();
beforeAll(async () => {
  authority = await TestAuthority.of('c1');
  monitor = await authority.credentials('monitor', 'm1');
  open = delegationOpener(await authority.credentials('agent', 'h1'), () => nowMs);
});
afterAll(() => authority[Symbol.dispose]());

const answerTo = (text: string): string => {
  const opened = open(text);
  return opened.valid ? 'valid' : opened.reason;
};

describe('S4.13 who may sign a delegation', () => {
  it('a monitor, with the key of its certificate', () => {
    const text = delegationSigner(monitor)(DELEGATION);
    expect(open(text)).toEqual({ valid: true, monitor: 'm1', delegation: DELEGATION });
    expect(text.length).toBeLessThan(2_048);
  });

  it('no other role, and no monitor of another authority or cell', async () => {
    using other = await TestAuthority.of('c1');
    const strangers = [await other.credentials('monitor', 'm1'), await elsewhere()];
    for (const role of ['scheduler', 'agent', 'arbiter', 'operator', 'etcd'] as const)
      strangers.push(await authority.credentials(role, 'x'));
    for (const stranger of strangers)
      expect(answerTo(delegationSigner(stranger)(DELEGATION))).toBe('unknown-signer');
  });

  it('a monitor no longer than its certificate counts, and with a renewed one from then on', async () => {
    const sign = delegationSigner(monitor);
    const text = sign(DELEGATION);
    expect(answerTo(text)).toBe('valid');
    nowMs = monitor.now.notAfterMs + 1;
    expect(answerTo(text)).toBe('unknown-signer');
    nowMs = Date.now();
    await authority.issue('monitor', 'm1');
    monitor.reload();
    expect(sign(DELEGATION).split('.')[1]).not.toBe(text.split('.')[1]);
    expect(answerTo(sign(DELEGATION))).toBe('valid');
  });

  it('not one who shows the certificate of another', async () => {
    const [, certificate = ''] = delegationSigner(monitor)(DELEGATION).split('.');
    const thief = delegationSigner(await authority.credentials('agent', 'h2'));
    const [head, , body, signature] = thief(DELEGATION).split('.');
    expect(answerTo([head, certificate, body, signature].join('.'))).toBe('bad-signature');
  });

  it('and nothing of it can be altered', () => {
    const text = delegationSigner(monitor)(DELEGATION);
    const [head = '', certificate = '', , signature = ''] = text.split('.');
    const body = Buffer.from(JSON.stringify({ ...DELEGATION, host: 'h2' })).toString('base64url');
    expect(answerTo([head, certificate, body, signature].join('.'))).toBe('bad-signature');
    expect(answerTo([head, 'AAAA', body, signature].join('.'))).toBe('unknown-signer');
    const odd = ['', 'x', '...', `${text}.x`, text.slice(1), `${head}.${certificate}`, 'x'.repeat(9_000)];
    for (const one of odd) expect(answerTo(one)).toBe('malformed');
  });

  it('a form that this version does not know is none', () => {
    const more = { ...DELEGATION, only: 'between ten and eleven' };
    expect(answerTo(delegationSigner(monitor)(more))).toBe('malformed');
  });
});

/** A monitor of another cell, whose certificate the same key signed. */
async function elsewhere(): Promise<Credentials> {
  const folder = await authority.issue('monitor', 'odd');
  const times = { nowMs: Date.now(), ttlMs: HOUR_MS, hosts: LOOPBACK_HOSTS };
  const identity = { cell: 'c2', role: 'monitor', id: 'm1' } as const;
  const pair = await issue(await authority.folder.keyPair(), identity, times);
  writeFileSync(join(folder, 'identity.pem'), `${pair.key}${pair.certificate}\n`, { mode: 0o600 });
  return openCredentials(folder, null);
}
