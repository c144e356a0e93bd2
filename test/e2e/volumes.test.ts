import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { VolumeListAnswer } from '../../src/wire/api/volume-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, pidIn, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const answer = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;

beforeAll(async () => {
  const more = ['--hosts', '2', '--schedulers', 'service,batch'];
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, ...more]);
});

afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

const pidOf = (name: string): number => pidIn(cell, name);

async function submit(job: { readonly name: string; readonly [field: string]: unknown }): Promise<void> {
  const file = join(folder.path, `${job.name}.yaml`);
  writeFileSync(file, JSON.stringify(job));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

/** Each of its processes adds a line to its data, and tells how many there are. */
const DB = {
  ...{ name: 'db', type: 'service', volumes: { data: {} }, mounts: { data: {} } },
  script:
    'echo "$MOORAGE_HOST $ROUND" >> "$MOORAGE_VOLUME_DATA/rounds"; cat "$MOORAGE_VOLUME_DATA/rounds"; sleep 1000',
  resources: { cpu: '100m', memory: '16Mi' },
  restart: { delay: '1s' },
};

/** What the newest process of it has found, which ends with its own round. */
async function rounds(round: string): Promise<readonly string[]> {
  const lines = (text: string): readonly string[] =>
    text
      .trim()
      .split('\n')
      .map((line) => line.replace(/^db\[0\] /, ''));
  const { stdout } = await until(
    () => moorage('logs', 'db'),
    ({ stdout: text }) => lines(text).at(-1)?.endsWith(` ${round}`) === true,
  );
  const said = lines(stdout);
  return said.slice(said.findLastIndex((line) => line.endsWith(' one')));
}

it('S0.27 jobs that share a volume land on one host, though they would rather spread', async () => {
  const shares = {
    ...{ type: 'service', count: 2, script: 'sleep 1000', spread: [{ by: 'host' }] },
    volumes: { data: { access: 'shared', claim: 'common' } },
    ...{ mounts: { data: {} }, resources: { cpu: '50m', memory: '16Mi' } },
  };
  for (const name of ['first', 'second']) await submit({ name, ...shares });
  const hosts = async (): Promise<readonly string[]> => {
    const found = [await answer<JobStatus>('status', 'first'), await answer<JobStatus>('status', 'second')];
    return found
      .flatMap(({ allocations }) => allocations)
      .filter(({ report }) => report?.state === 'running')
      .map(({ allocation }) => allocation.host);
  };
  const where = await until(hosts, (found) => found.length === 4);
  expect(new Set(where).size).toBe(1);
  for (const name of ['first', 'second'])
    expect((await moorage('stop', name, '--wait', '--timeout', '60s')).code).toBe(0);
  expect((await moorage('volume', 'delete', 'common')).stdout).toBe('common\n');
  await until(
    () => answer<VolumeListAnswer>('volume', 'list'),
    ({ volumes }) => volumes.length === 0,
  );
});

describe('a job with data of its own', () => {
  it('S0.24 S0.25 data survives a stop, a new version and a frozen agent, and is nobody else’s to see', async () => {
    await submit({ ...DB, env: { ROUND: 'one' } });
    const [first = ''] = await rounds('one');
    const host = first.split(' ')[0] ?? '';
    await moorage('stop', 'db', '--wait', '--timeout', '60s');
    expect((await answer<VolumeListAnswer>('volume', 'list')).volumes).toMatchObject([
      { claim: 'db.db.data.0', host, holders: [], access: 'exclusive' },
    ]);
    // Whoever else looks for it on its host finds no way to it.
    const spy = [
      '--constraint',
      `host == ${host}`,
      '--',
      'sh',
      '-c',
      'find /tmp /var /home -name rounds 2>/dev/null; echo looked',
    ];
    expect((await moorage('run', ...spy)).stdout).toBe('looked\n');
    await submit({ ...DB, env: { ROUND: 'two' } });
    expect(await rounds('two')).toEqual([`${host} one`, `${host} two`]);
    await submit({ ...DB, env: { ROUND: 'three' } });
    expect(await rounds('three')).toEqual([`${host} one`, `${host} two`, `${host} three`]);
    const refused = await moorage('volume', 'delete', 'db.db.data.0');
    expect(refused.stderr).toContain('moorage stop db');
  });

  it('B11 S0.24 while the host of its data is lost it waits and says so, without a twin; then it goes on with the same data', async () => {
    const [first = ''] = await rounds('three');
    const host = first.split(' ')[0] ?? '';
    process.kill(pidOf(host), 'SIGSTOP');
    try {
      const isSilent = ({ hosts }: HostListAnswer): boolean => hosts.some((one) => !one.alive);
      await until(() => answer<HostListAnswer>('hosts'), isSilent);
      expect((await moorage('host', 'lost', host, '--reason', 'burnt')).stdout).toBe(`${host} is lost\n`);
      await moorage('stop', 'db');
      await submit({ ...DB, env: { ROUND: 'four' } });
      const told = await until(
        async () => (await moorage('why', 'db')).stdout,
        (text) => text.includes('lies on'),
      );
      expect(told).toContain(`data of volume db.db.data.0 lies on ${host}`);
      const { allocations } = await answer<JobStatus>('status', 'db');
      for (const { allocation } of allocations) expect(allocation.host).toBe(host);
    } finally {
      process.kill(pidOf(host), 'SIGCONT');
    }
    expect(await rounds('four')).toEqual(['one', 'two', 'three', 'four'].map((round) => `${host} ${round}`));
    await moorage('stop', 'db', '--wait', '--timeout', '60s');
    expect((await moorage('volume', 'delete', 'db.db.data.0')).stdout).toBe('db.db.data.0\n');
    expect((await moorage('volume', 'list')).stdout).not.toContain('db.db.data.0');
    await submit({ ...DB, env: { ROUND: 'five' } });
    // Nothing of the rounds before is there any more.
    const logs = async (): Promise<string> => (await moorage('logs', 'db')).stdout;
    const five = await until(logs, (text) => text.trim().endsWith(' five'));
    expect(five.match(/ one$/gm)).toHaveLength(4);
  });
});
