import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { VolumeListAnswer } from '../../src/wire/api/volume-api.ts';
import type { CliProcess, DevCellProcess } from '../support/cli.ts';
import {
  issueFor,
  ONE_OF_EACH,
  PROJECT_ROOT,
  runCli,
  startCli,
  startDevCell,
  testFolder,
  until,
} from '../support/cli.ts';

const folder = testFolder();
const SHARE = join(folder.path, 'share');
const DRIVERS = join(PROJECT_ROOT, 'examples', 'volume-drivers');
const CLAIM = 'db.db.data.0';
let cell: DevCellProcess;
/** Two hosts with the drivers, beside the cell's own, which has none. */
const agents = new Map<string, CliProcess>();

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const answer = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;

async function startAgent(id: string, at: number): Promise<void> {
  const keys = join(folder.path, '.moorage', 'cells', 'dev', 'keys');
  const first = 29_100 + at * 10;
  const agent = startCli(
    [
      ...['agent', '--cell', cell.file.cell, '--etcd', cell.file.etcd[0] ?? '', '--id', id],
      ...[
        '--credentials',
        await issueFor(cell, 'agent', id),
        '--keys',
        keys,
        '--data',
        join(folder.path, id),
      ],
      ...['--ports', `${String(first)}-${String(first + 9)}`],
      ...['--volume-driver', `share=${DRIVERS}/directory,${SHARE}`],
      ...['--volume-driver', `disk=${DRIVERS}/loop,${SHARE}`],
    ],
    { cwd: folder.path },
  );
  agents.set(id, agent);
}

const isThere = (id: string): Promise<HostListAnswer> =>
  until(
    () => answer<HostListAnswer>('hosts'),
    ({ hosts }) => hosts.some(({ host, alive }) => host.id === id && alive),
  );

beforeAll(async () => {
  mkdirSync(SHARE);
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--schedulers', 'service']);
  await Promise.all(['host-a', 'host-b'].map((id, at) => startAgent(id, at)));
  for (const id of agents.keys()) await isThere(id);
});

afterAll(async () => {
  for (const { kill, end } of agents.values()) {
    kill('SIGTERM');
    await end;
  }
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

async function submit(job: { readonly name: string; readonly [field: string]: unknown }): Promise<void> {
  const file = join(folder.path, `${job.name}.yaml`);
  writeFileSync(file, JSON.stringify(job));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

function service(name: string, driver: string, more: object = {}) {
  return {
    ...{ name, type: 'service', mounts: { data: {} }, reschedule: { onHostLost: true } },
    volumes: { data: { scope: 'global', driver, ...more } },
    script:
      'echo "$MOORAGE_HOST" >> "$MOORAGE_VOLUME_DATA/places"; cat "$MOORAGE_VOLUME_DATA/places"; sleep 1000',
    resources: { cpu: '50m', memory: '16Mi' },
    restart: { delay: '1s' },
  };
}

/** What the newest process of the job has found, when it found so many lines. */
async function places(job: string, count: number): Promise<readonly string[]> {
  const found = await until(
    async () =>
      (await answer<JobStatus>('status', job)).allocations.find(({ report }) => report?.state === 'running'),
    (one) => one !== undefined,
  );
  const { stdout } = await until(
    () => moorage('logs', job, '--allocation', found?.allocation.id ?? ''),
    ({ stdout: text }) => text.trim().split('\n').length >= count,
  );
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/^\S+\[0\] /, ''));
}

const volume = async (claim: string) =>
  (await answer<VolumeListAnswer>('volume', 'list')).volumes.find((one) => one.claim === claim);

/** Who has the data of the directory driver attached, by its own notes. */
function holdersOf(claim: string): readonly string[] {
  const home = join(SHARE, 'default', claim);
  if (!existsSync(home)) return [];
  return readdirSync(home).flatMap((data) => readdirSync(join(home, data, 'holders')));
}

describe('a volume of scope global', () => {
  it('S0.26 follows its job from a drained host to another one, and is attached to one host at a time', async () => {
    await submit(service('db', 'share'));
    const [first = ''] = await places('db', 1);
    expect(['host-a', 'host-b']).toContain(first);
    expect(holdersOf(CLAIM)).toEqual([first]);
    expect(await volume(CLAIM)).toMatchObject({ driver: 'share', host: first, access: 'exclusive' });
    expect((await moorage('host', 'drain', first, '--wait', '--reason', 'test')).code).toBe(0);
    const other = first === 'host-a' ? 'host-b' : 'host-a';
    expect(await places('db', 2)).toEqual([first, other]);
    expect(holdersOf(CLAIM)).toEqual([other]);
    await moorage('host', 'ready', first, '--reason', 'test');
    expect((await moorage('volume', 'list')).stdout).toMatch(/global \(share\)/);
  });
});
