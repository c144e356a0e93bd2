import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { PausesAnswer } from '../../src/wire/api/pause-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;
const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

beforeAll(async () => {
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--schedulers', 'service,batch']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

function jobFile(name: string, job: Readonly<Record<string, unknown>>): string {
  const file = join(folder.path, `${name}.json`);
  writeFileSync(file, JSON.stringify({ name, type: 'service', script: 'sleep 1000', ...job }));
  return file;
}

async function submit(name: string, job: Readonly<Record<string, unknown>> = {}): Promise<void> {
  expect((await moorage('run', '-d', jobFile(name, job))).stderr).toBe('');
}

const statusOf = async (name: string): Promise<JobStatus> =>
  JSON.parse((await moorage('status', name, '-o', 'json')).stdout) as JobStatus;
const isUp = async (name: string): Promise<void> => {
  expect((await moorage('wait', name, '--for', 'running', '--timeout', '100s')).code).toBe(0);
};
async function whySays(name: string, text: string): Promise<string> {
  for (;;) {
    const { stdout } = await moorage('why', name);
    if (stdout.includes(text)) return stdout;
  }
}

it('S3.59 S3.20 a pause holds at once, over a killed monitor; why and status say by whom and why; it ends by itself', async () => {
  expect((await moorage('pause', 'everything', '--reason', 'x')).code).toBe(64);
  await submit('before');
  await isUp('before');
  const paused = await moorage(
    ...['pause', 'placement', '--reason', 'new disks', '--for', '1h', '-o', 'json'],
  );
  const { pauses } = JSON.parse(paused.stdout) as PausesAnswer;
  expect(pauses.placement).toMatchObject({ reason: 'new disks' });
  await submit('late');
  expect(await whySays('late', 'new disks')).toMatch(
    /^late: paused: placement: paused by .* until .*: new disks$/m,
  );
  expect((await statusOf('late')).allocations).toEqual([]);

  const pid = Number(/processes:.*\bmonitor-1 (\d+)/.exec(cell.output())?.[1]);
  const isUpAgain = cell.says('monitor-1 is up again');
  process.kill(pid, 'SIGKILL');
  await isUpAgain;
  expect((await moorage('status')).stdout).toMatch(/^placement is paused by .* for another \S+: new disks$/m);
  expect(await whySays('late', 'new disks')).toContain('paused');
  expect(await statusOf('late')).toMatchObject({ allocations: [] });
  // What runs goes on, and stops are carried out.
  expect(await statusOf('before')).toMatchObject({ allocations: [{ report: { state: 'running' } }] });
  expect((await moorage('stop', 'before', '--wait', '--timeout', '100s')).code).toBe(0);

  await moorage('pause', 'placement', '--reason', 'nearly done', '--for', '1s');
  await isUp('late');
  expect((await moorage('status')).stdout).not.toContain('paused');
  const { stdout: events } = await moorage('events', '--since', '0');
  expect(events).toMatch(/paused .*nearly done/);
  expect(events).toMatch(/resumed .*placement goes on/);
  expect((await moorage('delete', 'late', 'before', '--wait', '--timeout', '100s')).code).toBe(0);
});

it('S3.59 S3.10 while eviction is paused nothing gives way, and why says so; resume has the waiting job take its place', async () => {
  const hosts = JSON.parse((await moorage('hosts', '-o', 'json')).stdout) as {
    hosts: { host: { capacity: { cpuMilli: number } } }[];
  };
  const cpu = `${String(Math.floor((hosts.hosts[0]?.host.capacity.cpuMilli ?? 0) * 0.6))}m`;
  await submit('low', { priority: 10, resources: { cpu, memory: '16Mi' } });
  await isUp('low');
  await moorage('pause', 'eviction', '--reason', 'a look');
  await submit('high', { priority: 90, resources: { cpu, memory: '16Mi' } });
  expect(await whySays('high', 'a look')).toMatch(/^high: parked: .*; no preemption: paused by .*: a look$/m);
  expect(await statusOf('low')).toMatchObject({ allocations: [{ allocation: { desired: 'run' } }] });
  expect((await statusOf('high')).allocations).toEqual([]);
  expect((await moorage('resume', 'eviction')).stdout).toBe('eviction goes on\n');
  await isUp('high');
  expect((await moorage('delete', 'low', 'high', '--wait', '--timeout', '100s')).code).toBe(0);
});
