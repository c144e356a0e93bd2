import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OciRuntimeName } from '../../host-agent/drivers/oci-runtime.ts';
import { OCI_RUNTIMES } from '../../host-agent/drivers/oci-runtime.ts';
import type { Task } from '../../src/core/cell/job.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { DriverWorld, leftOf } from '../support/driver-world.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { busyboxImage } from '../support/image-archive.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import { runInside } from '../support/inside.ts';
import type { AgentChild } from '../support/real-host.ts';
import { buildShim, hostClient, startAgentChild, stateFolder, untilReport } from '../support/real-host.ts';

/** Not every kernel lets everybody make namespaces. @returns why not */
function unsharingAs(uid: number): string | null {
  const done = spawnSync('unshare', ['-r', 'true'], { uid, gid: uid, encoding: 'utf8' });
  return done.status === 0 ? null : `no namespaces without root: ${done.stderr}`;
}

const needed = firstMissing(root(), ...['cc', 'bwrap', 'busybox'].map(program));

const NOBODY = 65_534;

const isRunning = (report: AllocationReport): boolean => report.state === 'running';

/** What `denied-calls.c` is answered. */
const CALLS_SAID = `mount EPERM
unshare EPERM
setns EPERM
bpf EPERM
keyctl EPERM
add_key EPERM
io_uring_setup EPERM
userfaultfd EPERM
perf_event_open EPERM
personality EPERM
clone3 ENOSYS
clone EPERM
socket EPERM
ioctl EPERM
ioctl EPERM
fork ok
socket ok
`;

/** Agents that a test did not end by itself, since it failed. */
const agents = new Set<AgentChild>();
afterEach(async () => {
  for (const agent of agents) await agent.end('SIGTERM');
  agents.clear();
});

async function startAgent(...args: Parameters<typeof startAgentChild>): Promise<AgentChild> {
  const agent = await startAgentChild(...args);
  agents.add(agent);
  return agent;
}

describe.each(OCI_RUNTIMES)('%s', (runtime) => {
  describeNeeding(firstMissing(needed, program(runtime)), `tasks from images, by ${runtime}`, () =>
    tasksFromImages(runtime),
  );
});

function tasksFromImages(runtime: OciRuntimeName): void {
  const world = new DriverWorld();
  const images = stateFolder();
  const archives = new Map<string, Task['image']>();

  beforeAll(async () => {
    const calls = join(images.path, 'calls');
    const source = fileURLToPath(new URL('../support/denied-calls.c', import.meta.url));
    expect(spawnSync('cc', ['-static', '-o', calls, source], { encoding: 'utf8' }).stderr).toBe('');
    for (const kind of ['docker', 'oci'] as const) {
      const bytes = busyboxImage(images.path, kind, [calls]);
      writeFileSync(join(images.path, `${kind}.image`), bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      archives.set(kind, { source: `file://${images.path}/${kind}.image`, sha256, unpack: true });
    }
    await world.open({ artifactSources: [`file://${images.path}/`], ociRuntime: runtime });
  });
  afterAll(async () => {
    await world.close();
    images[Symbol.dispose]();
  });

  function container(script: string, changes: Partial<Task> = {}) {
    const image = archives.get('docker');
    if (image === undefined) throw new Error('no image');
    const stop = { signal: 'SIGTERM', graceMs: 300 };
    const task = someTask({ driver: 'oci', image, command: ['sh', '-c', script], stop, ...changes });
    return someStart({ tasks: [task] });
  }

  const leftovers = async (id: string): Promise<readonly string[]> => {
    const files = ['containers', 'bundles'].flatMap((name) =>
      readdirSync(join(world.folder.path, 'state', 'oci', name)),
    );
    return [...(await leftOf(id)), ...files.filter((name) => name.startsWith(id))];
  };

  it('the host is registered with its runtime', async () => {
    expect((await world.host()).attributes['driver.oci']).toBe(runtime);
  });

  it.each(['docker', 'oci'])('an archive of %s becomes its root, layer upon layer', async (kind) => {
    const image = archives.get(kind);
    const script = 'cat /etc/motd; ls /gone 2>/dev/null; echo $GREETING $MOORAGE_JOB; exit 42';
    const { report, output } = await world.run(container(script, image === undefined ? {} : { image }));
    expect(report).toMatchObject({ state: 'failed', exit: { code: 42 } });
    expect(output).toBe('two layers\nhello web\n');
    expect(await leftovers(report.id)).toEqual([]);
  });

  it('has no capability, no other process, nothing to write to but its own, and no network', async () => {
    const { report, output } = await world.run(
      container(`grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status
ls /proc | grep -c '^[0-9]'
touch /x /etc/x 2>/dev/null && echo writes
touch /tmp/x /work/x && grep -c ' lo\\|lo:' /proc/net/dev
wc -l </proc/net/dev`),
    );
    expect(report.reason).toBe('done');
    expect(output).toMatch(/^CapEff:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2$/m);
    expect(output).not.toContain('writes');
    expect(Number(output.trim().split('\n').at(-1))).toBe(3);
  });

  it('I35 is held to its limits like every other task', async () => {
    const { report } = await world.run(container('x=x; while :; do x="$x$x"; done'));
    expect(report.exit?.oomKills).toBeGreaterThanOrEqual(1);
    expect(report.reason).toContain('out of memory, its limit is 64Mi');
  });

  it('I29 nothing is left of one that takes no signal: no process, group, container or bundle', async () => {
    const id = await world.start(
      container(`trap '' TERM; (trap '' TERM; sleep 1000) & echo up; while :; do sleep 1; done`),
    );
    await world.said(id, 'up');
    expect((await world.stop(id)).state).toBe('killed');
    expect(await leftovers(id)).toEqual([]);
  });

  it('what is no image fails the allocation, and says so', async () => {
    const bytes = Buffer.from('no image');
    writeFileSync(join(images.path, 'bad.image'), bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const image = { source: `file://${images.path}/bad.image`, sha256, unpack: true };
    const { report } = await world.run(container('true', { image }));
    expect(report.reason).toMatch(/^task main lacks its image: cannot unpack it/);
  });

  it('a command inside has the container about it: its root, user, environment, and no more rights', async () => {
    const id = await world.start(container('while :; do sleep 1; done'));
    await world.until(id, isRunning);
    const inside = await runInside(
      world.client,
      world.agent.address,
      id,
      `cat /etc/motd; echo $GREETING $PATH; pwd; id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
touch /x 2>/dev/null && echo writes; ls /proc | grep -c '^[0-9]'; exit 9`,
    );
    expect(inside.code).toBe(9);
    expect(inside.said).toMatch(/^two layers\nhello \/bin\n\/\n0\n/);
    expect(inside.said).toMatch(/CapEff:\t0{16}\nCapBnd:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2\n[3-9]\n$/);
    await world.stop(id);
    expect(await leftovers(id)).toEqual([]);
  });

  it('denies the system calls that lead out, to the task and to commands inside', async () => {
    const id = await world.start(container('/bin/calls; echo done; while :; do sleep 1; done'));
    await world.said(id, 'done');
    await world.until(id, isRunning);
    const inside = await runInside(world.client, world.agent.address, id, '/bin/calls');
    expect(inside.said).toBe(CALLS_SAID);
    expect(await world.output(id)).toBe(`${CALLS_SAID}done\n`);
    await world.stop(id);
  });

  it('I26 I27 kill -9 of the agent: the container runs on, the next agent adopts it, enters it and ends it', async () => {
    const folder = stateFolder();
    const shim = buildShim(folder.path) ?? '';
    const options = {
      artifactSources: [`file://${images.path}/`],
      ociRuntime: runtime,
      stopTasksOnExit: true,
    };
    let agent = await startAgent(folder.path, shim, options);
    const order = container('echo $$; trap "exit 7" TERM; while :; do sleep 0.05; done');
    const { id } = order.allocation;
    await world.client.start(agent.address, order);
    const before = await untilReport(world.client, agent.address, id, isRunning);
    await agent.end('SIGKILL');
    agent = await startAgent(folder.path, shim, options);
    const after = await untilReport(world.client, agent.address, id, isRunning);
    expect(after.tasks['main']?.pid).toBe(before.tasks['main']?.pid);
    expect(await runInside(world.client, agent.address, id, 'cat /etc/motd')).toEqual({
      ...{ code: 0, said: 'two layers\n' },
    });
    await world.client.stop(agent.address, id, someStop());
    const end = await untilReport(world.client, agent.address, id, (report) => report.released);
    expect(end).toMatchObject({ state: 'killed', exit: { code: 7 } });
    expect(await leftOf(id)).toEqual([]);
    expect(readdirSync(join(folder.path, 'oci', 'containers'))).toEqual([]);
    await agent.end('SIGTERM');
    folder[Symbol.dispose]();
  });
}

describeNeeding(
  firstMissing(needed, program('runc'), unsharingAs(NOBODY)),
  'tasks from images without root',
  () => {
    it('run as the user of the agent, with the same limits to what they see; an image of another user is refused', async () => {
      const folder = stateFolder();
      const bytes = busyboxImage(folder.path, 'oci');
      const other = busyboxImage(join(folder.path, 'other'), 'docker', [], '1000');
      const [image, alien] = [bytes, other].map((archive, index) => {
        const path = join(folder.path, `${String(index)}.image`);
        writeFileSync(path, archive);
        return {
          source: `file://${path}`,
          sha256: createHash('sha256').update(archive).digest('hex'),
          unpack: true,
        };
      });
      const shim = buildShim(folder.path) ?? '';
      mkdirSync(join(folder.path, 'state'));
      for (const path of [folder.path, join(folder.path, 'state')]) chownSync(path, NOBODY, NOBODY);
      const agent = await startAgent(join(folder.path, 'state'), shim, {
        ...{ runAs: NOBODY, stopTasksOnExit: true, artifactSources: [`file://${folder.path}/`] },
      });
      const http = hostClient();
      const { client } = http;
      const start = async (script: string, changes: Partial<Task>): Promise<string> => {
        const task = someTask({ driver: 'oci', command: ['sh', '-c', script], ...changes });
        const order = someStart({ tasks: [task] });
        expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
        return order.allocation.id;
      };
      const networks = ['none', 'host'] as const;
      for (const network of networks) {
        const id = await start('trap "exit 3" TERM; touch /work/mine; while :; do sleep 0.05; done', {
          ...(image === undefined ? {} : { image }),
          network,
        });
        const report = await untilReport(client, agent.address, id, (one) => isRunning(one) || one.released);
        expect(report, report.reason).toMatchObject({ state: 'running' });
        const look = `cat /etc/motd; id -u; grep -E '^(CapEff|Seccomp):' /proc/self/status; touch /x 2>/dev/null && echo writes`;
        const { said } = await runInside(client, agent.address, id, look);
        expect(said).toBe('two layers\n0\nCapEff:\t0000000000000000\nSeccomp:\t2\n');
        const mine = join(folder.path, 'state', 'allocations', id, 'work', 'mine');
        expect(statSync(mine).uid).toBe(NOBODY);
        await client.stop(agent.address, id, someStop());
        const end = await untilReport(client, agent.address, id, (one) => one.released);
        expect(end).toMatchObject({ state: 'killed', exit: { code: 3 } });
        expect(await leftOf(id)).toEqual([]);
      }
      const refused = await start('true', alien === undefined ? {} : { image: alien });
      const { reason } = await untilReport(client, agent.address, refused, (one) => one.released);
      expect(reason).toContain('its image runs as user 1000, and this host, which has no root');
      await agent.end('SIGTERM');
      await http.close();
      folder[Symbol.dispose]();
    });
  },
);
