import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { debug } from '../../../../cli/operator/debug.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-debug-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const A = 'http://a';
const TOKEN = `moorage.01m8bw5y9ey97zmn8n1b64r5be.${'ab'.repeat(32)}`;

it('an archive that tar reads, with what the cell says, the ends of logs, and no secret', async () => {
  const logs = join(folder, 'logs');
  mkdirSync(logs);
  writeFileSync(
    join(logs, 'monitor-1.log'),
    `${'x'.repeat(400_000)}\nsaid ${TOKEN}\nAuthorization: Bearer abc.def\n`,
  );
  writeFileSync(join(logs, 'arbiter-1.log'), 'k4.secret.abcdef123\nMY_PASSWORD=hunter2\n');
  const http = new FakeHttp({
    [A]: (_, path) => {
      if (path.startsWith('/v1/events')) return { chunks: ['{"id":"1.0","kind":"placed"}\n'] };
      if (path === '/metrics') return { body: 'moorage_up 1\n' };
      return path === '/v1/schedulers' ? 'refused' : { body: { at: path, hosts: [], jobs: [] } };
    },
  });
  const { context, terminal } = fakeContext(http, [A]);
  const file = join(folder, 'out.tar.gz');
  const env = { HOME: folder, MOORAGE_TOKEN: TOKEN, OTHER: 'mine' };
  expect(await debug({ ...context, terminal: Object.assign(terminal, { env }) }, file, [logs])).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const list = spawnSync('tar', ['-tzf', file], { encoding: 'utf8' });
  expect([list.status, list.stderr]).toEqual([0, '']);
  const names = list.stdout
    .trim()
    .split('\n')
    .map((name) => name.slice(name.indexOf('/') + 1));
  expect(names.sort()).toEqual([
    ...['cell.json', 'client.json', 'events.ndjson', 'hosts.json', 'jobs.json', 'logs/arbiter-1.log'],
    ...[
      'logs/monitor-1.log',
      'metrics.txt',
      'pauses.json',
      'quotas.json',
      'schedulers.json.failed',
      'version.json',
    ],
  ]);
  const all = spawnSync('tar', ['-xzOf', file], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 }).stdout;
  for (const part of ['moorage_up 1', '"kind":"placed"', 'said [removed]', 'MOORAGE_TOKEN'])
    expect(all).toContain(part);
  for (const secret of [TOKEN, 'abc.def', 'abcdef123', 'hunter2', 'mine']) expect(all).not.toContain(secret);
  expect(all.length).toBeLessThan(300_000);
});
