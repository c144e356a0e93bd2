import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { pidIn, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { runningOn, startEagerMonitor } from '../support/eager-monitor.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const CONTROL = ['monitor-1', 'service-1', 'batch-1', 'arbiter-1'] as const;
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...['--hosts', '2', '--monitors', '1', '--arbiters', '1', '--schedulers', 'service,batch'],
  ]);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

const pidOf = (name: string): number => pidIn(cell, name);

async function submit(job: { readonly name: string; readonly [field: string]: unknown }): Promise<void> {
  const file = join(folder.path, `${job.name}.yaml`);
  writeFileSync(file, JSON.stringify(job));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

/** null: no monitor answers, or it does not know the job yet. */
async function statusOf(job: string): Promise<JobStatus | null> {
  const { code, stdout } = await moorage('status', job, '-o', 'json');
  return code === 0 ? (JSON.parse(stdout) as JobStatus) : null;
}

const isRunning = (status: JobStatus | null): boolean => runningOn(status).length === 1;

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const SERVICE = {
  ...{ type: 'service', count: 1, script: 'sleep 1000' },
  resources: { cpu: '100m', memory: '16Mi' },
};

it('S3.42 a task that dies while no monitor tells of it is replaced: its scheduler asks the host', async () => {
  const command = ['sleep', '97531'];
  const pidsOf = (): readonly string[] =>
    readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid) === `${command.join('\0')}\0`);
  const steady = {
    type: 'service',
    command,
    restart: { attempts: 0 },
    reschedule: { delay: '0s', maxDelay: '0s' },
  };
  await submit({ name: 'steady', ...steady });
  await until(() => statusOf('steady'), isRunning);
  const [first = ''] = pidsOf();
  const monitor = pidOf('monitor-1');
  process.kill(monitor, 'SIGSTOP');
  try {
    process.kill(Number(first), 'SIGKILL');
    await until(
      () => Promise.resolve(pidsOf()),
      (pids) => pids.some((pid) => pid !== first),
    );
  } finally {
    process.kill(monitor, 'SIGCONT');
  }
  await until(() => statusOf('steady'), isRunning);
});

it('S0.5 S0.6 a host dies while all control is down: what starts again finds that, and moves what may be moved', async () => {
  await submit({ name: 'moves', ...SERVICE, reschedule: { onHostLost: true } });
  const [host = ''] = runningOn(await until(() => statusOf('moves'), isRunning));
  await submit({ name: 'stays', ...SERVICE, constraints: [`host.id == ${host}`] });
  await until(() => statusOf('stays'), isRunning);

  for (const name of CONTROL) process.kill(pidOf(name), 'SIGKILL');
  process.kill(pidOf(host), 'SIGSTOP');
  // Started again by the cell, but this one, which never heard the host, gives its verdict sooner.
  const monitor = await startEagerMonitor(cell, ['--lost-after', '2s']);
  try {
    const moved = await until(() => statusOf('moves'), isRunning);
    expect(runningOn(moved)).not.toContain(host);
    const left = await statusOf('stays');
    expect(runningOn(left)).toEqual([]);
    expect(left?.allocations.map(({ allocation }) => allocation.host)).toEqual([host]);
  } finally {
    process.kill(pidOf(host), 'SIGCONT');
    monitor.kill('SIGTERM');
    await monitor.end;
  }
  await until(() => statusOf('stays'), isRunning);
});

it('S0.36 without a quorum of the store nothing is placed, though there is room', async () => {
  const { stdout } = await moorage('hosts', '-o', 'json');
  const { hosts } = JSON.parse(stdout) as HostListAnswer;
  const largest = Math.max(...hosts.map(({ host }) => host.capacity.cpuMilli));
  const cpu = `${String(Math.floor(largest * 0.6))}m`;
  const batch = { type: 'batch', resources: { cpu, memory: '16Mi' } };
  await submit({ name: 'holds', ...batch, count: 2, script: 'while [ ! -e go ]; do sleep 0.1; done' });
  await until(
    () => statusOf('holds'),
    (status) => runningOn(status).length === 2,
  );
  await submit({ name: 'waits', ...batch, script: 'true' });
  await until(
    async () => (await moorage('why', 'waits')).stdout,
    (text) => text.includes('cpu'),
  );
  const before = logOf('batch').length;
  process.kill(pidOf('etcd'), 'SIGSTOP');
  try {
    for (const slot of ['holds[0]', 'holds[1]'])
      expect((await moorage('exec', slot, '--', 'touch', 'go')).stderr).toBe('');
    // The host has said that it is free; the owner of what waits cannot commit, and then owns nothing any more.
    await until(
      async () => (await moorage('why', 'waits')).stdout,
      () => logOf('batch').slice(before).includes('the session is lost'),
    );
    expect((await statusOf('waits'))?.allocations).toEqual([]);
  } finally {
    process.kill(pidOf('etcd'), 'SIGCONT');
  }
  expect((await moorage('wait', 'waits')).code).toBe(0);
});

function logOf(role: string): string {
  const folderOfLogs = join(folder.path, '.moorage', 'cells', cell.file.cell, 'logs');
  const files = readdirSync(folderOfLogs).filter((file) => file.startsWith(role));
  return files.map((file) => readFileSync(join(folderOfLogs, file), 'utf8')).join('');
}
