import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
} from '../support/cli.ts';
import { runningOn, startEagerMonitor } from '../support/eager-monitor.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const SHARE = join(folder.path, 'share');
const MOUNTS = join(folder.path, 'mounts');
const DRIVERS = join(PROJECT_ROOT, 'examples', 'volume-drivers');
const CLAIM = 'db.db.data.0';
/** As the directory driver, but that it detaches nothing while a file `busy` is there. */
const STUCK = `#!/bin/sh
if [ "$1" = detach ] && [ -e "$(dirname "$0")/busy" ]; then echo 'target is busy' >&2; exit 1; fi
exec ${DRIVERS}/directory "$@"
`;
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
      ...['--volume-driver', `disk=${DRIVERS}/loop,${SHARE},${MOUNTS}`],
      ...['--volume-driver', `stuck=${join(folder.path, 'stuck.sh')},${SHARE}`],
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
  writeFileSync(join(folder.path, 'stuck.sh'), STUCK, { mode: 0o755 });
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
  spawnSync('umount', ['--', MOUNTS]);
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
    expect((await moorage('host', 'ready', first, '--reason', 'test')).code).toBe(0);
    expect((await moorage('volume', 'list')).stdout).toMatch(/global \(share\)/);
  });

  it('S0.26 an agent that is killed goes on where it stopped, and its volume is detached when its job stops', async () => {
    const holder = (await volume(CLAIM))?.host ?? '';
    agents.get(holder)?.kill('SIGKILL');
    await agents.get(holder)?.end;
    // Nobody is there to end it and to detach its data: that is left to the next agent.
    await moorage('stop', 'db');
    expect(holdersOf(CLAIM)).toEqual([holder]);
    await startAgent(holder, holder === 'host-a' ? 0 : 1);
    expect((await moorage('stop', 'db', '--wait', '--timeout', '60s')).code).toBe(0);
    expect(holdersOf(CLAIM)).toEqual([]);
    expect(await volume(CLAIM)).toMatchObject({ holders: [] });
    expect((await moorage('volume', 'delete', CLAIM)).stdout).toBe(`${CLAIM}\n`);
    expect(readdirSync(join(SHARE, 'default', CLAIM))).toEqual([]);
    expect(await volume(CLAIM)).toBeUndefined();
  });

  it('S0.26 of a lost host it is held until somebody answers for that host, and then taken by force', async () => {
    await submit(service('forced', 'share', { forceDetach: true }));
    const claim = 'forced.forced.data.0';
    const [first = ''] = await places('forced', 1);
    const other = first === 'host-a' ? 'host-b' : 'host-a';
    agents.get(first)?.kill('SIGSTOP');
    try {
      await until(
        () => answer<HostListAnswer>('hosts'),
        ({ hosts }) => hosts.some(({ host, alive }) => host.id === first && !alive),
      );
      expect((await moorage('host', 'lost', first, '--reason', 'no answer')).code).toBe(0);
      const told = await until(
        async () => (await moorage('why', 'forced')).stdout,
        (text) => text.includes('may still write to its volume'),
      );
      expect(told).toContain(`moorage host remove ${first}`);
      expect(holdersOf(claim)).toEqual([first]);
      expect((await moorage('host', 'remove', first, '--reason', 'unplugged')).code).toBe(0);
      expect(await places('forced', 2)).toEqual([first, other]);
      expect(holdersOf(claim)).toEqual([other]);
    } finally {
      agents.get(first)?.kill('SIGCONT');
    }
    // Its old holder returns, ends what it still has, and takes nothing away.
    await isThere(first);
    await until(
      async () => readdirSync(join(folder.path, first, 'attachments')),
      (left) => left.length === 0,
    );
    expect(holdersOf(claim)).toEqual([other]);
    expect((await moorage('stop', 'forced', '--wait', '--timeout', '60s')).code).toBe(0);
  });

  it('S0.26 S0.34 of a lost host it is taken by force when the fence program of its job has said yes', async () => {
    const program = join(folder.path, 'by-file.sh');
    cpSync(join(PROJECT_ROOT, 'examples', 'fences', 'by-file.sh'), program);
    const fence = ['--fence', `power=${program}`, '--fence-timeout', '1s'];
    const monitor = await startEagerMonitor(cell, ['--lost-after', '2s', ...fence]);
    await monitor.says('"ready"');
    await submit({ ...service('cut', 'share', { forceDetach: true }), disconnect: { fence: 'power' } });
    const claim = 'cut.cut.data.0';
    const [first = ''] = await places('cut', 1);
    const other = first === 'host-a' ? 'host-b' : 'host-a';
    agents.get(first)?.kill('SIGSTOP');
    try {
      const told = await until(
        async () => (await moorage('why', 'cut')).stdout,
        (text) => text.includes('nobody has cut'),
      );
      expect(told).toContain(`kept until fence power confirms that ${first} runs it no more`);
      expect(holdersOf(claim)).toEqual([first]);
      mkdirSync(join(folder.path, 'fenced'));
      writeFileSync(join(folder.path, 'fenced', first), '');
      await until(
        () => answer<JobStatus>('status', 'cut'),
        (status) => runningOn(status).includes(other),
      );
      expect(await places('cut', 2)).toEqual([first, other]);
      expect(holdersOf(claim)).toEqual([other]);
    } finally {
      agents.get(first)?.kill('SIGCONT');
    }
    await isThere(first);
    expect((await moorage('stop', 'cut', '--wait', '--timeout', '60s')).code).toBe(0);
    expect(holdersOf(claim)).toEqual([]);
    monitor.kill('SIGTERM');
    await monitor.end;
  });

  it('S0.26 that cannot be detached keeps its allocation, which says why, until it can', async () => {
    writeFileSync(join(folder.path, 'busy'), '');
    await submit(service('busy', 'stuck'));
    const [host = ''] = await places('busy', 1);
    await moorage('stop', 'busy');
    const status = await until(
      async () => (await moorage('status', 'busy')).stdout,
      (text) => text.includes('target is busy'),
    );
    const told = (await moorage('why', 'busy')).stdout;
    for (const text of [status, told])
      expect(text).toContain(
        'its place is not free yet: volume busy.busy.data.0 cannot be detached: driver stuck: target is busy',
      );
    expect(holdersOf('busy.busy.data.0')).toEqual([host]);
    rmSync(join(folder.path, 'busy'));
    expect((await moorage('stop', 'busy', '--wait', '--timeout', '60s')).code).toBe(0);
    expect(holdersOf('busy.busy.data.0')).toEqual([]);
    expect((await moorage('history', 'busy')).stdout).not.toContain('target is busy');
  });

  it('S0.26 whose driver fails, or is on no host, says so', async () => {
    await submit({ ...service('absent', 'nowhere'), name: 'absent' });
    const why = await until(
      async () => (await moorage('why', 'absent')).stdout,
      (text) => text.includes('nowhere'),
    );
    expect(why).toContain('host.volume-driver.nowhere exists: not set');
    await submit(service('broken', 'disk', { access: 'shared' }));
    const status = await until(
      async () => (await moorage('status', 'broken')).stdout,
      (text) => text.includes('driver disk'),
    );
    expect(status).toContain('an image is mounted by one host only: write access: exclusive');
    for (const job of ['absent', 'broken']) await moorage('stop', job, '--wait', '--timeout', '60s');
  });

  it('S0.26 a file system in an image follows its job, and is mounted nowhere afterwards', async () => {
    await submit(service('image', 'disk', { size: '16Mi' }));
    const [first = ''] = await places('image', 1);
    expect((await moorage('host', 'drain', first, '--wait', '--reason', 'test')).code).toBe(0);
    const other = first === 'host-a' ? 'host-b' : 'host-a';
    expect(await places('image', 2)).toEqual([first, other]);
    expect(
      readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter((line) => line.includes('image.image')),
    ).toHaveLength(1);
    expect((await moorage('stop', 'image', '--wait', '--timeout', '60s')).code).toBe(0);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain('image.image');
    expect((await moorage('volume', 'delete', 'image.image.data.0')).stdout).toBe('image.image.data.0\n');
    expect(readdirSync(SHARE).filter((name) => name.includes('.img'))).toEqual([]);
  });
});
