import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;
const HOSTS = ['host-1', 'host-2', 'host-3', 'host-4'];
/** Two racks of two hosts. */
const rackOf = (host: string): string => (HOSTS.indexOf(host) < 2 ? 'a' : 'b');

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

async function run(name: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const file = join(folder.path, `${name}.yaml`);
  const job = {
    name,
    type: 'batch',
    script: 'sleep 1000',
    resources: { cpu: '20m', memory: '16Mi' },
    ...fields,
  };
  writeFileSync(file, JSON.stringify(job));
  const said = await moorage('run', '-d', file);
  expect(said.code, said.stderr).toBe(0);
  expect((await moorage('wait', name, '--for', 'running', '--timeout', '200s')).code).toBe(0);
}

async function hostsOf(name: string): Promise<readonly string[]> {
  const { allocations } = JSON.parse((await moorage('status', name, '-o', 'json')).stdout) as JobStatus;
  return allocations.map(({ allocation }) => allocation.host).sort();
}

beforeAll(async () => {
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--hosts', String(HOSTS.length)]);
  for (const host of HOSTS)
    expect((await moorage('host', 'label', host, `rack=${rackOf(host)}`)).code).toBe(0);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

describe('neighbours', () => {
  it('S3.17 a job is placed near a class, by host and by rack', async () => {
    await run('db', { class: 'db', constraints: ['host.id == host-3'] });
    await run('cache', { count: 3, near: ['db'] });
    expect(await hostsOf('cache')).toEqual(['host-3', 'host-3', 'host-3']);
    await run('web', { count: 4, near: [{ class: 'db', over: 'host.rack' }] });
    expect(new Set((await hostsOf('web')).map(rackOf))).toEqual(new Set(['b']));
  });

  it('S3.17 I74 what avoids a class has no host with it, whichever was there first', async () => {
    await run('noisy', { class: 'noisy', count: 2, constraints: ['host.rack == a'] });
    await run('quick', { class: 'latency', avoid: ['noisy'], count: 3 });
    const loud = new Set(await hostsOf('noisy'));
    expect((await hostsOf('quick')).filter((host) => loud.has(host))).toEqual([]);
    expect((await moorage('check')).stdout).toContain('no violation of');
  });
});
