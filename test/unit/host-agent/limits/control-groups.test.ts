import { describe, expect, it } from 'vitest';
import { openLimits } from '../../../../host-agent/limits/control-groups.ts';
import { V1_SETTINGS } from '../../../../host-agent/limits/settings.ts';
import type { Limits } from '../../../../host-agent/limits/limits.ts';
import { NO_LIMITS } from '../../../../host-agent/limits/limits.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { CgroupMount } from '../../../../src/ports/cgroups.ts';
import { MemoryCgroups } from '../../../support/memory-cgroups.ts';

const V1 = (path: string, ...controllers: string[]): CgroupMount => ({ version: 1, controllers, path });
const V2 = (...controllers: string[]): CgroupMount => ({ version: 2, controllers, path: '/v2' });

const FILES_V1 = [
  ...['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', 'memory.oom_control', 'cpu.shares'],
  ...['cpu.cfs_period_us', 'cpu.cfs_quota_us', 'pids.max', 'freezer.state'],
  ...['blkio.throttle.read_bps_device', 'blkio.throttle.write_bps_device'],
];
const FILES_V2 = [
  ...['cgroup.subtree_control', 'cgroup.kill', 'cgroup.freeze', 'cgroup.events', 'memory.max', 'memory.high'],
  ...['memory.oom.group', 'memory.events', 'cpu.weight', 'cpu.max', 'pids.max', 'io.max'],
];

const LIMITS: Limits = {
  memoryMaxMib: 64,
  memoryHighMib: null,
  cpuMilli: 500,
  cpuMaxMilli: 1_500,
  pidsMax: 100,
  ioReadBytes: 1_000_000,
  ioWriteBytes: null,
};

function world(...mounts: CgroupMount[]): MemoryCgroups {
  return new MemoryCgroups(mounts, (mount) => (mount.version === 1 ? FILES_V1 : FILES_V2));
}

function open(cgroups: MemoryCgroups, owner = 'host-a.1') {
  return openLimits(cgroups, silentLog, { owner, parent: '', folder: '/state' });
}

describe('which hierarchy holds what', () => {
  it('v2 alone', async () => {
    const driver = await open(world(V2('cpu', 'memory', 'pids', 'io')));
    expect(driver.enforced).toEqual({ cpu: 'v2', memory: 'v2', pids: 'v2', io: 'v2', devices: 'none' });
  });

  it('v1 with an empty v2 beside it: v1 holds, and every attempt is in v2 too', async () => {
    const cgroups = world(V1('/memory', 'memory'), V1('/cpu', 'cpu', 'cpuacct'), V2());
    const driver = await open(cgroups);
    expect(driver.enforced).toEqual({ cpu: 'v1', memory: 'v1', pids: 'none', io: 'none', devices: 'none' });
    const groups = await driver.create('a', LIMITS);
    expect([...groups.procs].sort()).toEqual([
      '/cpu/moorage/host-a.1.a/tasks',
      '/memory/moorage/host-a.1.a/tasks',
      '/v2/moorage/host-a.1.a/cgroup.procs',
    ]);
    expect(groups.killFile).toBe('/v2/moorage/host-a.1.a/cgroup.kill');
    expect(groups.oomFile).toBe('/memory/moorage/host-a.1.a/memory.oom_control');
  });

  it('each controller for itself, when v2 has some and v1 the others', async () => {
    const driver = await open(world(V1('/memory', 'memory'), V1('/pids', 'pids'), V2('cpu', 'memory')));
    expect(driver.enforced).toMatchObject({ cpu: 'v2', memory: 'v2', pids: 'v1' });
  });

  it('a hierarchy that we may not write to holds nothing, and the others do', async () => {
    const cgroups = world(V1('/memory', 'memory'), V1('/pids', 'pids'));
    cgroups.denied.push('/memory');
    expect((await open(cgroups)).enforced).toMatchObject({ memory: 'none', pids: 'v1' });
  });

  it('a controller that is not handed down to us holds nothing', async () => {
    const cgroups = world(V2('memory'));
    cgroups.denied.push('/v2/cgroup.subtree_control');
    expect((await open(cgroups)).enforced.memory).toBe('none');
  });

  it('none at all: nothing is held, and nothing fails', async () => {
    const driver = await open(world());
    expect(driver).toBe(NO_LIMITS);
    expect((await driver.create('a', LIMITS)).procs).toEqual([]);
  });

  it('bytes a second are not held where the state folder lies on no disk', async () => {
    const cgroups = world(V2('io'));
    cgroups.device = null;
    expect((await open(cgroups)).enforced.io).toBe('none');
  });
});

describe('an attempt', () => {
  it('v1: has its limits before anything can be in it', async () => {
    const cgroups = world(V1('/all', 'memory', 'cpu', 'pids', 'blkio'));
    await (await open(cgroups)).create('a', LIMITS);
    const read = (file: string) => cgroups.files.get(`/all/moorage/host-a.1.a/${file}`);
    expect(read('memory.limit_in_bytes')).toBe(String(64 * 1024 * 1024));
    expect(read('memory.memsw.limit_in_bytes')).toBe(String(64 * 1024 * 1024));
    expect([read('cpu.shares'), read('cpu.cfs_quota_us')]).toEqual(['512', '150000']);
    expect(read('pids.max')).toBe('100');
    expect(read('blkio.throttle.read_bps_device')).toBe('8:0 1000000');
    expect(read('blkio.throttle.write_bps_device')).toBe('');
  });

  it('v2: the same limits in its own words', async () => {
    const cgroups = world(V2('cpu', 'memory', 'pids', 'io'));
    await (await open(cgroups)).create('a', LIMITS);
    const read = (file: string) => cgroups.files.get(`/v2/moorage/host-a.1.a/${file}`);
    expect([read('memory.max'), read('memory.high'), read('memory.oom.group')]).toEqual([
      String(64 * 1024 * 1024),
      'max',
      '1',
    ]);
    expect([read('cpu.weight'), read('cpu.max')]).toEqual(['20', '150000 100000']);
    expect(read('io.max')).toBe('8:0 rbps=1000000 wbps=max');
  });

  it('a limit that cannot be set refuses the attempt', async () => {
    const cgroups = world(V1('/memory', 'memory'));
    const driver = await open(cgroups);
    cgroups.denied.push('/memory/moorage/host-a.1.a/memory.limit_in_bytes');
    await expect(driver.create('a', LIMITS)).rejects.toMatchObject({ name: 'CgroupError', code: 'denied' });
  });

  it('is killed through the freezer where there is no cgroup.kill', async () => {
    const cgroups = world(V1('/freezer', 'freezer'));
    const driver = await open(cgroups);
    await driver.create('a', LIMITS);
    cgroups.busy.add('/freezer/moorage/host-a.1.a');
    expect(await driver.kill('a')).toBe(true);
    expect(cgroups.busy.size).toBe(0);
    expect(cgroups.files.get('/freezer/moorage/host-a.1.a/freezer.state')).toBe('THAWED');
  });

  it('groups of another host on the same machine are never listed', async () => {
    const cgroups = world(V2('memory'));
    const [a, b] = [await open(cgroups, 'host-a.1'), await open(cgroups, 'host-a.2')];
    await a.create('x', LIMITS);
    await b.create('y', LIMITS);
    expect([await a.list(), await b.list()]).toEqual([['x'], ['y']]);
    expect(await a.destroy('x')).toBe(true);
    expect([await a.list(), await b.list()]).toEqual([[], ['y']]);
  });

  it('says what it used, and leaves out what nobody counts', async () => {
    const cgroups = world(V2('memory'));
    const driver = await open(cgroups);
    await driver.create('a', LIMITS);
    cgroups.files.set('/v2/moorage/host-a.1.a/memory.current', '4096\n');
    cgroups.files.set('/v2/moorage/host-a.1.a/memory.events', 'low 0\nhigh 3\noom 2\noom_kill 1\n');
    expect(await driver.stat('a')).toEqual({ memoryBytes: 4096 });
    expect(await driver.oomKills('a')).toBe(1);
  });
});

it('I68 v1 holds devices: none, then what every program needs and what the attempt was given', async () => {
  const cgroups = world(V1('/devices', 'devices'));
  const driver = await open(cgroups);
  expect(driver.enforced.devices).toBe('v1');
  const node = { path: '/dev/gpu0', type: 'c', major: 195, minor: 0 } as const;
  const [held, open_] = [{ ...LIMITS, devices: [node] }, LIMITS];
  expect(V1_SETTINGS.devices(held, null).map(({ file, text }) => `${file} ${text}`)).toEqual([
    'devices.deny a',
    ...['1:3', '1:5', '1:7', '1:8', '1:9', '5:0', '5:1', '5:2', '136:*'].map(
      (one) => `devices.allow c ${one} rwm`,
    ),
    'devices.allow c 195:0 rwm',
  ]);
  expect(V1_SETTINGS.devices(open_, null)).toEqual([]);
});
