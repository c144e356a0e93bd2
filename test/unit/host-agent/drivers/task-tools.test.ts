import { describe, expect, it } from 'vitest';
import { limitsOf, PIDS_DEFAULT } from '../../../../host-agent/drivers/task-limits.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { attemptName, decodeLaunch } from '../../../../src/wire/host-files/attempt-files.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { MemoryCgroups } from '../../../support/memory-cgroups.ts';

const FILES = [
  ...['memory.max', 'memory.high', 'memory.oom.group', 'memory.events', 'cpu.weight', 'cpu.max', 'pids.max'],
  ...['cgroup.subtree_control', 'cgroup.kill', 'cgroup.freeze', 'cgroup.events'],
];

async function world(): Promise<{ host: HostWorld; cgroups: MemoryCgroups }> {
  const v2 = { version: 2 as const, controllers: ['cpu', 'memory', 'pids'], path: '/v2' };
  const cgroups = new MemoryCgroups([v2], () => FILES);
  const host = new HostWorld();
  host.cgroups = cgroups;
  await host.open();
  return { host, cgroups };
}

const ended = (report: AllocationReport): boolean => report.endedAtMs !== undefined;
const released = (report: AllocationReport): boolean => report.released;
const runs = (report: AllocationReport): boolean => report.state === 'running';

function groupsOf(cgroups: MemoryCgroups): string[] {
  return [...cgroups.groups].filter((group) => group.startsWith('/v2/moorage/'));
}

describe('a task in its groups', () => {
  it('the host says what it holds tasks to', async () => {
    const { host } = await world();
    expect(host.agent.host.attributes).toMatchObject({
      'driver.exec': 'true',
      'limits.memory': 'v2',
      'limits.cpu': 'v2',
      'limits.pids': 'v2',
      'limits.io': 'none',
      'limits.disk': 'none',
    });
  });

  it('the shim is told its groups, and how to end all that is in them', async () => {
    const { host, cgroups } = await world();
    const order = someStart();
    await host.agent.start(order);
    await host.until(order.allocation.id, runs);
    const name = attemptName(order.allocation.id, 'main', 1);
    const [group = ''] = groupsOf(cgroups);
    expect(group.endsWith(`.${name}`)).toBe(true);
    const launch = decodeLaunch((await host.disk.read(`attempts/${name}/launch`)) ?? '');
    expect(launch).toMatchObject({
      cgroupProcs: [`${group}/cgroup.procs`],
      kill: [{ kind: 'cgroup', path: `${group}/cgroup.kill` }],
      oomFiles: [`${group}/memory.events`],
      freezeFile: `${group}/cgroup.freeze`,
    });
    expect(cgroups.files.get(`${group}/memory.max`)).toBe(String(64 * 1024 * 1024));
  });

  it('I29 it is not released while something is in its group', async () => {
    const { host, cgroups } = await world();
    const order = someStart({ tasks: [someTask({ env: { HOLLOW_RUN_MS: '1000' } })] });
    await host.agent.start(order);
    await host.until(order.allocation.id, runs);
    const [group = ''] = groupsOf(cgroups);
    cgroups.busy.add(group);
    expect((await host.until(order.allocation.id, ended)).released).toBe(false);
    await host.clock.advance(10_000);
    expect(host.agent.report(order.allocation.id).released).toBe(false);
    cgroups.busy.delete(group);
    await host.until(order.allocation.id, released);
    expect(groupsOf(cgroups)).toEqual([]);
  });

  it('I13 it is not restarted while something of the last attempt is left', async () => {
    const { host, cgroups } = await world();
    const order = someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '1000', HOLLOW_EXIT_CODE: '1' } })],
      restart: { attempts: 1, windowMs: 60_000, delayMs: 0, on: 'failure' },
    });
    await host.agent.start(order);
    await host.until(order.allocation.id, runs);
    const [group = ''] = groupsOf(cgroups);
    cgroups.busy.add(group);
    await host.clock.advance(10_000);
    expect(host.agent.report(order.allocation.id).restarts).toBe(0);
    cgroups.busy.delete(group);
    expect((await host.until(order.allocation.id, released)).restarts).toBe(1);
  });

  it('it is never started with less than its limits', async () => {
    const { host, cgroups } = await world();
    cgroups.denied.push('/v2/moorage/host-a');
    const order = someStart();
    await host.agent.start(order);
    const report = await host.until(order.allocation.id, released);
    expect(report.state).toBe('failed');
    expect(report.reason).toMatch(/^task main cannot be started: \/v2\/moorage\/host-a/);
    expect(report.tasks['main']).not.toHaveProperty('pid');
    expect(await host.disk.read(`attempts/${attemptName(order.allocation.id, 'main', 1)}/launch`)).toBeNull();
  });
});

describe('what a task is held to', () => {
  it('memory to what it asks for, CPU to its share, processes to the bound of the host', () => {
    expect(limitsOf(someTask())).toEqual({
      memoryMaxMib: 64,
      memoryHighMib: null,
      cpuMilli: 100,
      cpuMaxMilli: null,
      pidsMax: PIDS_DEFAULT,
      ioReadBytes: null,
      ioWriteBytes: null,
    });
  });

  it('what its limits say comes before', () => {
    const limits = { memoryMib: 256, cpuMilli: 2_000, pids: 10, readMib: 1, writeMib: 2 };
    expect(limitsOf(someTask({ limits }))).toMatchObject({
      ...{ memoryMaxMib: 256, cpuMaxMilli: 2_000, pidsMax: 10 },
      ...{ ioReadBytes: 1_048_576, ioWriteBytes: 2_097_152 },
    });
  });
});
