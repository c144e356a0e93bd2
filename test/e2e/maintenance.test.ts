import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostStatus, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { pidIn, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

async function answer<T>(...args: readonly string[]): Promise<T | null> {
  const { code, stdout } = await moorage(...args, '-o', 'json');
  return code === 0 ? (JSON.parse(stdout) as T) : null;
}

async function submit(job: { readonly name: string; readonly [field: string]: unknown }): Promise<void> {
  const file = join(folder.path, `${job.name}.yaml`);
  const resources = { cpu: '100m', memory: '16Mi' };
  writeFileSync(file, JSON.stringify({ type: 'service', script: 'sleep 1000', resources, ...job }));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
  expect((await moorage('wait', job.name, '--for', 'running', '--timeout', '200s')).code).toBe(0);
}

async function hostsOf(job: string): Promise<readonly string[]> {
  const status = await answer<JobStatus>('status', job);
  return (status?.allocations ?? [])
    .filter(({ allocation, report }) => allocation.desired === 'run' && report?.state === 'running')
    .map(({ allocation }) => allocation.host)
    .sort();
}

async function idsOf(job: string): Promise<readonly string[]> {
  const status = await answer<JobStatus>('status', job);
  return (status?.allocations ?? []).map(({ allocation }) => allocation.id).sort();
}

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...['--hosts', '2', '--monitors', '2', '--arbiters', '1', '--schedulers', 'service'],
  ]);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

describe('moves', () => {
  it('S0.41 S0.38 the two-host story: after a host was lost and is back, a rebalance has the next failure survived', async () => {
    const reschedule = { onHostLost: true };
    await submit({ name: 'web', count: 2, reschedule, update: { minHealthy: '1s' } });
    expect(await hostsOf('web')).toEqual(['host-1', 'host-2']);
    const pid = pidIn(cell, 'host-2');
    process.kill(pid, 'SIGSTOP');
    try {
      await until(
        () => moorage('host', 'lost', 'host-2', '--reason', 'a test'),
        ({ code }) => code === 0,
      );
      await until(
        () => hostsOf('web'),
        (hosts) => hosts.filter((host) => host === 'host-1').length === 2,
      );
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until(
      () => answer<HostStatus>('host', 'status', 'host-2'),
      (status) => status?.eligibility?.state === 'ready' && status.allocations === 0,
    );
    expect(await hostsOf('web')).toEqual(['host-1', 'host-1']);
    const ids = await idsOf('web');
    const dry = await moorage('rebalance', '--budget', '5', '--dry-run');
    expect(dry.stderr).toBe('');
    expect(dry.code).toBe(1);
    expect(dry.stdout).toMatch(
      /^move default\/web\[\d\] from host-1 to host-2: 2 of group web are on host-1, none on host-2 /,
    );
    expect(dry.stdout).toContain('nothing was done');
    expect(await idsOf('web')).toEqual(ids);
    const moved = await moorage('rebalance', '--budget', '5', '--reason', 'a host is back');
    expect(moved.stderr).toBe('');
    expect(moved.stdout).toMatch(/web\[\d\] moved from host-1 to host-2\n$/);
    expect(await hostsOf('web')).toEqual(['host-1', 'host-2']);
    const rests = await moorage('rebalance', '--budget', '5', '--dry-run');
    expect(rests).toMatchObject({ code: 0 });
    expect(rests.stdout).toContain('nothing that may be moved would be better elsewhere');
    const status = await answer<JobStatus>('status', 'web');
    expect(status?.outcomes.map(({ cause }) => cause)).toContainEqual(
      expect.stringMatching(/^moved by .+: a host is back$/),
    );
    await moorage('stop', 'web', '--wait', '--timeout', '200s');
  });

  it('S0.38 S0.43 one allocation by name, with another one first where its job says so; what may not move is told why', async () => {
    const update = { strategy: 'start-first', minHealthy: '1s' };
    const reschedule = { onDrain: false, onRequest: true };
    await submit({ name: 'api', update, reschedule });
    const [from = ''] = await hostsOf('api');
    const to = from === 'host-1' ? 'host-2' : 'host-1';
    const moved = await moorage('move', 'api[0]', '--to', to, '--timeout', '200s');
    expect(moved.stderr).toBe('');
    expect(moved.stdout).toBe(
      `api[0] is to move from ${from} to ${to}\napi[0] moved from ${from} to ${to}\n`,
    );
    await submit({ name: 'db', reschedule: 'never' });
    for (const [args, says] of [
      [['db[0]'], 'db[0] is not moved: reschedule.onDrain is false'],
      [['api[0]', '--to', to], 'it is there already'],
      [['api[0]', '--to', 'host-9'], 'there is no host host-9'],
    ] as const) {
      const refused = await moorage('move', ...args);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain(says);
    }
    await moorage('pause', 'placement', '--job', 'api', '--reason', 'a look');
    expect((await moorage('move', 'api[0]')).stderr).toContain('what is paused is not moved');
    await moorage('resume', 'placement', '--job', 'api');
    await moorage('stop', 'api', 'db', '--wait', '--timeout', '200s');
  });
});

describe('a planned drain', () => {
  it('S0.37 I62 begins though monitors and the scheduler died meanwhile, moves what is there, and ends by itself', async () => {
    await submit({ name: 'web', count: 1 });
    const [host = ''] = await hostsOf('web');
    const before = await answer<HostStatus>('host', 'status', host);
    const counter = before?.eligibility?.counter ?? 0;
    const planned = await moorage('host', 'drain', host, '--at', '+8s', '--for', '30s', '--reason', 'disks');
    expect(planned.stderr).toBe('');
    expect(planned.stdout).toMatch(
      new RegExp(`^${host} is ready, and drained from .+Z until .+Z by .+: disks`),
    );
    for (const name of ['monitor-1', 'monitor-2', 'service-1']) process.kill(pidIn(cell, name), 'SIGKILL');
    const shown = await until(
      () => moorage('hosts'),
      ({ code, stdout }) => code === 0 && stdout.includes(host),
    );
    expect(shown.stdout).toMatch(/drained in \d+s|to be drained|ready in \d+s/);
    const drained = await until(
      () => answer<HostStatus>('host', 'status', host),
      (status) => status?.eligibility?.state === 'draining',
    );
    expect(drained?.eligibility).toMatchObject({ reason: 'disks', counter: counter + 1 });
    await until(
      () => hostsOf('web'),
      (hosts) => hosts.length === 1 && hosts[0] !== host,
    );
    const after = await until(
      () => answer<HostStatus>('host', 'status', host),
      (status) => status?.eligibility?.state === 'ready',
    );
    expect(after?.eligibility).toMatchObject({ reason: 'its drain is over', counter: counter + 2 });
    await moorage('stop', 'web', '--wait', '--timeout', '200s');
  });

  it('is shown, and cancelled by ready', async () => {
    await submit({ name: 'one' });
    const [host = ''] = await hostsOf('one');
    await moorage('host', 'drain', host, '--at', '2999-01-01T00:00Z');
    const far = await moorage('host', 'drain', host, '--at', '2999-01-01T00:00Z');
    expect(far.stderr).toContain('more than a year away');
    await moorage('host', 'drain', host, '--at', '+3h', '--reason', 'new disks');
    for (const shown of [['status'], ['host', 'status', host], ['why', 'one']])
      expect((await moorage(...shown)).stdout).toMatch(/drained from .+Z by .+: new disks/);
    expect((await moorage('hosts')).stdout).toMatch(/ready \(drained in (3h|2h59m)/);
    expect((await moorage('host', 'ready', host)).stdout).toBe(`${host} is ready\n`);
    expect((await moorage('hosts')).stdout).not.toContain('drained in');
    await moorage('stop', 'one', '--wait', '--timeout', '200s');
  });

  it('a time that is none, is past, or contradicts is told with its remedy', async () => {
    for (const [flags, says] of [
      [['--at', 'tomorrow'], 'is no time: write one with its zone'],
      [['--at', '2027-03-01T02:00'], 'is no time: write one with its zone'],
      [['--at', '2020-03-01T02:00Z'], 'is past'],
      [['--at', '+0s'], 'is now'],
      [['--at', '+2h', '--for', 'long'], '--for: duration'],
      [['--at', '+2h', '--wait'], '--wait is for a drain that begins now'],
    ] as const) {
      const wrong = await moorage('host', 'drain', 'host-1', ...flags);
      expect(wrong.code).toBe(64);
      expect(wrong.stderr).toContain(says);
    }
    const both = await moorage('host', 'drain', 'host-1', '--for', '5m', '--deadline', '10m');
    expect(both.stderr).toContain('the host is ready again before that');
  });
});
