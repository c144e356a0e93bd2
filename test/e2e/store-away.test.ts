import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, pidIn, runCli, startCli, startDevCell, testFolder } from '../support/cli.ts';
import { runningOn } from '../support/eager-monitor.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const HOSTS = 3;
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    ...['--hosts', String(HOSTS), '--schedulers', 'service,batch'],
  ]);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const answer = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;
const statusOf = (job: string): Promise<JobStatus> => answer<JobStatus>('status', job);

/** Which process each instance is, and how often it was restarted. */
async function processesOf(job: string): Promise<Readonly<Record<string, string>>> {
  const { allocations } = await statusOf(job);
  return Object.fromEntries(
    allocations.map(({ allocation, report }) => [
      allocation.id,
      `${allocation.host} ${String(report?.tasks[job]?.pid)} ${String(report?.restarts)}`,
    ]),
  );
}

/** `MOORAGE_STORE_AWAY_MINUTES`; without it longer than a session, and than verdicts on vanished hosts would have taken. */
const AWAY_MINUTES = Number(process.env['MOORAGE_STORE_AWAY_MINUTES'] ?? 0);
const AWAY_LONG =
  AWAY_MINUTES > 0
    ? new RegExp(`the store has not answered for ${String(AWAY_MINUTES)}m`)
    : /the store has not answered for ([2-9]\d|\dm)/;
const AWAY_LIMIT_MS = (AWAY_MINUTES + 1.5) * 60_000;
if (AWAY_MINUTES > 0) vi.setConfig({ testTimeout: AWAY_LIMIT_MS + 300_000 });

it('S3.50 I57 I18 I26 while the store is away for long all runs on and says so; when it is back nothing is moved, and everything goes on', async () => {
  const file = join(folder.path, 'web.yaml');
  const web = { name: 'web', type: 'service', count: HOSTS, script: 'sleep 1000', spread: [{ by: 'host' }] };
  const rest = { reschedule: { onHostLost: true }, resources: { cpu: '50m', memory: '16Mi' } };
  writeFileSync(file, JSON.stringify({ ...web, ...rest }));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
  await until(
    () => statusOf('web'),
    (status) => runningOn(status).length === HOSTS,
  );
  const follower = startCli(
    [
      'run',
      '--name',
      'follows',
      '--',
      'sh',
      '-c',
      'echo begun; while [ ! -e go ]; do sleep 0.1; done; exit 3',
    ],
    { cwd: folder.path },
  );
  await follower.says('begun');
  const before = await processesOf('web');
  const [killed = ''] = Object.keys(before);
  const [, pid] = before[killed]?.split(' ') ?? [];
  const { jobs } = await answer<{ jobs: { name: string }[] }>('ps');
  const one = jobs.find(({ name }) => name.startsWith('follows'))?.name ?? '';

  process.kill(pidIn(cell, 'etcd'), 'SIGSTOP');
  try {
    await until(
      async () => (await moorage('status')).stdout,
      (text) => text.includes('the store has not answered for'),
    );
    // Its host starts it again: that needs nobody.
    process.kill(Number(pid), 'SIGKILL');
    await until(
      () => statusOf('web'),
      (status) =>
        runningOn(status).length === HOSTS && status.allocations.some(({ report }) => report?.restarts === 1),
    );
    expect((await moorage('exec', one, '--', 'touch', 'go')).stderr).toBe('');
    await until(
      async () => (await moorage('why', 'web')).stdout,
      (text) => AWAY_LONG.test(text),
      { limitMs: AWAY_LIMIT_MS },
    );
    const status = await moorage('status', 'web');
    expect(status.stdout).toMatch(/running 3,[^]*the store has not answered for/);
    const refused = await moorage('stop', 'web');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/the store .*; nothing was (changed|done)/);
  } finally {
    process.kill(pidIn(cell, 'etcd'), 'SIGCONT');
  }

  const later = await moorage('run', '--', 'sh', '-c', 'exit 4');
  expect(later.code, later.stderr).toBe(4);
  expect(await follower.end).toMatchObject({ stdout: 'begun\n', code: 3 });
  await until(
    () => answer<HostListAnswer>('hosts'),
    ({ hosts }) =>
      hosts.length === HOSTS &&
      hosts.every(({ alive, eligibility }) => alive && (eligibility?.state ?? 'ready') === 'ready'),
  );
  await until(
    async () => (await moorage('status')).stdout,
    (text) => !text.includes('the store has not answered'),
  );
  const after = await processesOf('web');
  const { [killed]: restarted, ...others } = after;
  const { [killed]: old, ...same } = before;
  expect(others).toEqual(same);
  expect(restarted?.split(' ')).toMatchObject([old?.split(' ')[0], expect.stringMatching(/^\d+$/), '1']);
  expect((await moorage('events', '--since', '0', '--kind', 'host-lost')).stdout.trim()).toBe('');
  // Its scheduler has taken it up again.
  expect((await moorage('scale', 'web', '4')).code).toBe(0);
  expect(cell.output()).not.toMatch(/ ended \(/);
  expect((await moorage('check')).stdout).toContain('no violation of');
});
