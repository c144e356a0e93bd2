import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { AuthorityFolder } from '../../../../src/adapters/pki/authority-folder.ts';
import { openCredentials } from '../../../../src/adapters/pki/credentials.ts';

const HOUR_MS = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'moorage-credentials-'));
const authority = new AuthorityFolder(join(folder, 'pki'));
const beganMs = Date.parse('2030-01-01T00:00:00Z');
const holder = { role: 'operator', id: 'anna' } as const;
const issue = async (nowMs: number): Promise<string> =>
  (await authority.issue(holder, { nowMs, ttlMs: HOUR_MS, hosts: [] })).folder;

beforeAll(async () => {
  await authority.init('dev', { nowMs: beganMs, ttlMs: 24 * HOUR_MS });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('the credentials of a command', () => {
  it('S4.13 are read again late in the life of its certificate, and not before', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: beganMs });
    const credentials = openCredentials(await issue(beganMs), null);
    const first = credentials.now.certificate;
    await issue(beganMs + HOUR_MS / 3);
    vi.setSystemTime(beganMs + HOUR_MS / 3);
    expect(credentials.now.certificate).toBe(first);
    vi.setSystemTime(beganMs + 0.6 * HOUR_MS);
    expect(credentials.now.certificate).not.toBe(first);
    expect(credentials.now.notAfterMs).toBe(beganMs + HOUR_MS / 3 + HOUR_MS);
  });

  it('S4.13 stay as they are while nobody renews them', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: beganMs });
    const credentials = openCredentials(await issue(beganMs), null);
    const first = credentials.now.certificate;
    vi.setSystemTime(beganMs + 2 * HOUR_MS);
    expect(credentials.now.certificate).toBe(first);
  });
});
