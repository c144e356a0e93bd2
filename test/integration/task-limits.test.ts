import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { linuxCgroups } from '../../src/adapters/processes/cgroups.ts';
import { DriverWorld, leftOf } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';

const noGroups = (await linuxCgroups().mounts()).length === 0 ? 'no control groups are mounted' : null;

function shell(script: string, limits = {}) {
  const task = someTask({ command: ['sh', '-c', script], stop: { signal: 'SIGTERM', graceMs: 100 } });
  return someStart({ tasks: [{ ...task, limits }] });
}

describeNeeding(firstMissing(root(), program('cc'), noGroups), 'tasks held to their limits', () => {
  const world = new DriverWorld();
  beforeAll(() => world.open());
  afterAll(() => world.close());

  it('the host is registered with what it holds tasks to', async () => {
    const { attributes } = await world.host();
    expect(attributes['limits.memory']).toMatch(/^v[12]$/);
    expect(attributes['limits.cpu']).toMatch(/^v[12]$/);
    expect(attributes['limits.pids']).toMatch(/^v[12]$/);
    expect(attributes['limits.disk']).toBe('watched');
  });

  it('I35 over its memory limit that task alone dies, and the end says why', async () => {
    const neighbour = await world.start(shell('echo up; exec sleep 1000'));
    await world.said(neighbour, 'up');
    const { report } = await world.run(shell('exec tail /dev/zero'));
    expect(report.state).toBe('failed');
    expect(report.reason).toBe('task main was killed by SIGKILL: out of memory, its limit is 64Mi');
    expect(report.exit).toMatchObject({ signal: 'SIGKILL' });
    expect(report.exit?.oomKills).toBeGreaterThanOrEqual(1);
    expect((await world.until(neighbour, () => true)).state).toBe('running');
    expect((await world.stop(neighbour)).exit).not.toHaveProperty('oomKills');
  });

  it('S3.11 who has more on disk than it asked for is ended, and the end says why; others are left alone', async () => {
    const order = (script: string, diskMib: number) => {
      const start = shell(script);
      const resources = { ...start.allocation.resources, diskMib };
      return { ...start, allocation: { ...start.allocation, resources } };
    };
    const write = (mib: number): string =>
      `dd if=/dev/zero of=file bs=1M count=${String(mib)} 2>/dev/null; truncate -s 1G hole; echo up; exec sleep 1000`;
    const [modest, unasked] = await Promise.all([
      world.start(order(write(3), 4)),
      world.start(order(write(8), 0)),
    ]);
    const { report } = await world.run(order(write(8), 4));
    expect(report).toMatchObject({ state: 'failed', exit: { signal: 'SIGKILL' } });
    expect(report.reason).toMatch(/^out of disk: its folder holds [5-9]Mi, and 4Mi were asked for$/);
    for (const id of [modest, unasked]) expect((await world.until(id, () => true)).state).toBe('running');
    await Promise.all([modest, unasked].map((id) => world.stop(id)));
  });

  it('a limit of its own comes before what it asks for', async () => {
    const { report } = await world.run(shell('exec tail /dev/zero', { memoryMib: 80 }));
    expect(report.reason).toContain('its limit is 80Mi');
  });

  it('S3.8 the agent says what a task uses: time, memory, processes', async () => {
    const busy = await world.start(shell('sleep 1000 & echo up; while :; do :; done'));
    await world.said(busy, 'up');
    const first = await world.usage(busy);
    expect(first?.memoryBytes).toBeGreaterThan(0);
    expect(first?.pids).toBe(2);
    for (let use = first; (use?.cpuMs ?? 0) <= (first?.cpuMs ?? 0);) use = await world.usage(busy);
    await world.stop(busy);
    expect(await world.usage(busy)).toBeUndefined();
  });

  const UP = 'echo up; ';
  const tasks: readonly (readonly [string, string])[] = [
    ['a fork bomb', `${UP}while :; do setsid sh -c 'trap "" TERM; sleep 1000' & done`],
    ['processes in sessions of their own', `setsid sleep 1000 & setsid sleep 1000 & ${UP}wait`],
    [
      'a daemon that nobody is the parent of',
      `(setsid sh -c 'sleep 1000 & sleep 1000' &); ${UP}exec sleep 1000`,
    ],
    ['processes that were stopped', `sleep 1000 & kill -STOP $!; ${UP}kill -STOP $$`],
    ['processes that ignore all signals', `trap "" TERM INT HUP QUIT; ${UP}while :; do sleep 1000; done`],
    ['a process without an environment', `env -i setsid sh -c 'sleep 1000' & ${UP}wait`],
  ];
  it.each(tasks)('I29 nothing is left of %s', async (_name, script) => {
    const id = await world.start(shell(script, { pids: 50 }));
    await world.said(id, 'up');
    const report = await world.stop(id);
    expect(report.state).toBe('killed');
    expect(await leftOf(id)).toEqual([]);
  });

  it('I23 I26 its shim lies in a group of shims: what kills or freezes all of the task leaves it to write the end', async () => {
    const id = await world.start(shell('echo up; exec sleep 1000'));
    await world.said(id, 'up');
    const claim: unknown = JSON.parse(
      readFileSync(join(world.folder.path, 'state', 'attempts', `${id}.main.1`, 'claim'), 'utf8'),
    );
    const { pid } = claim as { readonly pid: number };
    const groupsOf = (of: number): string[] => readFileSync(`/proc/${String(of)}/cgroup`, 'utf8').split('\n');
    const mounts = await linuxCgroups().mounts();
    // Those of our controllers; a machine may have others, in which nobody is moved.
    expect(groupsOf(pid).filter((line) => line.endsWith(':/moorage/shims'))).toHaveLength(mounts.length);
    const task = (await world.until(id, ({ state }) => state === 'running')).tasks['main']?.pid ?? 0;
    const own = groupsOf(task).filter((line) => line.includes(`.${id}.main.1`));
    expect(own).not.toHaveLength(0);
    expect(groupsOf(task).join('\n')).not.toContain('/moorage/shims');
    const unified = mounts.find(({ version }) => version === 2);
    if (unified === undefined) process.kill(task, 'SIGKILL');
    else
      writeFileSync(
        `${unified.path}${own.find((line) => line.startsWith('0::'))?.slice(3) ?? ''}/cgroup.kill`,
        '1',
      );
    const ended = await world.until(id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'failed', exit: { signal: 'SIGKILL' } });
    expect(await leftOf(id)).toEqual([]);
  });

  it('I29 nothing is left of a task that ended by itself and left others behind', async () => {
    const { report } = await world.run(shell('env -i setsid sleep 1000 >/dev/null 2>&1 & exit 0'));
    expect(report.state).toBe('complete');
    expect(await leftOf(report.id)).toEqual([]);
  });
});
