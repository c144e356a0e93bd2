import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { PausesAnswer } from '../../src/wire/api/pause-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

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
/** As `kill -9`, until the cell has started it again. */
async function killed(role: string): Promise<void> {
  const pids = [
    ...cell.output().matchAll(new RegExp(`\\b${role} (?:is up again.*, as process )?(\\d+)`, 'g')),
  ];
  const isUpAgain = cell.says(`${role} is up again`);
  process.kill(Number(pids.at(-1)?.[1]), 'SIGKILL');
  await isUpAgain;
}
function whySays(name: string, text: string, scope: readonly string[] = []): Promise<string> {
  return until(
    async () => (await moorage('why', name, ...scope)).stdout,
    (said) => said.includes(text),
    { what: `why ${name} says ${text}` },
  );
}

it('S3.59 S3.20 a pause holds at once, over a killed monitor; why and status say by whom and why; it ends by itself', async () => {
  expect((await moorage('pause', 'everything', '--reason', 'x')).code).toBe(64);
  await submit('before');
  await isUp('before');
  const paused = await moorage(
    ...['pause', 'placement', '--reason', 'new disks', '--for', '1h', '-o', 'json'],
  );
  const { pauses } = JSON.parse(paused.stdout) as PausesAnswer;
  expect(pauses).toMatchObject([{ what: 'placement', reason: 'new disks' }]);
  await submit('late');
  expect(await whySays('late', 'new disks')).toMatch(
    /^late: paused: placement: paused by .* until .*: new disks$/m,
  );
  expect((await statusOf('late')).allocations).toEqual([]);

  await killed('monitor-1');
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

it('S3.59 S3.20 J5 a namespace stays paused over kill -9 of scheduler and monitor, and its restarts over that of the agent; all go on when told', async () => {
  const scope = ['--namespace', 'team-a'];
  expect((await moorage('run', '-d', ...scope, jobFile('up', {}))).stderr).toBe('');
  const isUpThere = async (name: string): Promise<void> => {
    const { code } = await moorage('wait', name, ...scope, '--for', 'running', '--timeout', '100s');
    expect(code).toBe(0);
  };
  await isUpThere('up');
  const statusThere = async (name: string): Promise<JobStatus> =>
    JSON.parse((await moorage('status', name, ...scope, '-o', 'json')).stdout) as JobStatus;
  const whyThere = (name: string, text: string): Promise<string> => whySays(name, text, scope);
  const paused = await moorage('pause', 'placement', ...scope, '--for', '1h', '--reason', 'a look');
  expect(paused.stdout).toBe(
    'placement in namespace team-a is paused; to go on: moorage resume placement --namespace team-a\n',
  );
  await moorage('pause', 'restarts', ...scope, '--reason', 'a dump is read');
  expect((await moorage('run', '-d', ...scope, jobFile('held', {}))).stderr).toBe('');
  await submit('elsewhere');
  await isUp('elsewhere');
  await whyThere('held', 'placement: paused in namespace team-a by');
  const pid = (await statusThere('up')).allocations[0]?.report?.tasks['up']?.pid ?? 0;
  process.kill(pid, 'SIGKILL');
  await whyThere('up', 'restarts are paused in namespace team-a by');

  await Promise.all([killed('monitor-1'), killed('service-1'), killed('host-1')]);
  await whyThere('held', 'placement: paused in namespace team-a by');
  await whyThere('up', 'restarts are paused in namespace team-a by');
  expect(await statusThere('held')).toMatchObject({ allocations: [] });
  expect(await statusThere('up')).toMatchObject({ allocations: [{ report: { restarts: 0 } }] });
  const { stdout } = await moorage('status');
  expect(stdout).toMatch(/^placement in namespace team-a is paused by .* for another 5\d\w+.*: a look$/m);
  expect(stdout).toMatch(/^restarts in namespace team-a are paused by .*: a dump is read$/m);

  await moorage('resume', 'placement', ...scope);
  await isUpThere('held');
  await moorage('resume', 'restarts', ...scope);
  await until(
    () => statusThere('up'),
    ({ allocations }) => allocations[0]?.report?.tasks['up']?.pid !== undefined,
  );
  expect(await statusThere('up')).toMatchObject({ allocations: [{ report: { restarts: 1 } }] });
  const jobs = ['delete', 'up', 'held', ...scope, '--wait', '--timeout', '100s'];
  expect((await moorage(...jobs)).code).toBe(0);
  expect((await moorage('delete', 'elsewhere', '--wait', '--timeout', '100s')).code).toBe(0);
});
