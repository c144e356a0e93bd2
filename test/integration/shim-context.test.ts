import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  firstGroups,
  groupsMissing,
  testGroup,
  unifiedGroups,
  unsharing,
} from '../support/machine-rights.ts';
import { describeNeeding, itWhere, program, root } from '../support/needs.ts';
import { buildShim, stateFolder } from '../support/real-host.ts';
import { ShimWorld, until } from '../support/shim-world.ts';

const tools = stateFolder();
const shims = (['plain', 'sanitize'] as const).flatMap((how) => {
  const path = buildShim(tools.path, how);
  return path === null ? [] : [[how, path] as const];
});
afterAll(() => tools[Symbol.dispose]());
const unified = unifiedGroups();
const memory = firstGroups('memory');
const noGroups = groupsMissing({ v2: unified });
const noUnshare = unsharing('--net', '--uts', '--mount', '--pid', '--fork');

describeNeeding(program('cc'), 'the native shim', () => {
  describe.each(shims)('what a task is born into, by the native shim (%s)', (_how, path) => {
    const world = new ShimWorld({ kind: 'native', path });
    afterAll(() => world.close());
    const said = async (name: string): Promise<string> => {
      await world.exit(name);
      return world.output(name).toString();
    };

    it('rlimits, niceness, oom score', async () => {
      const name = await world.shell('ulimit -n; ulimit -c; nice; cat /proc/self/oom_score_adj', {
        rlimits: [
          { name: 'nofile', soft: 64, hard: 128 },
          { name: 'core', soft: 0, hard: null },
        ],
        ...{ nice: 5, oomScoreAdj: 500 },
      });
      expect(await said(name)).toBe('64\n0\n5\n500\n');
    });

    itWhere(root(), 'a user of its own, in a folder that is its own', async () => {
      const script = 'id -u; id -g; id -G; grep NoNewPrivs /proc/self/status | tr -d "[:space:]"';
      const name = await world.shell(script, {
        ...{ cwd: '/', user: { uid: 1234, gid: 1235, groups: [1236] }, noNewPrivileges: true },
      });
      expect(await said(name)).toBe('1234\n1235\n1235 1236\nNoNewPrivs:1');
    });

    it('a step that fails ends the start, and nothing runs with less than was ordered', async () => {
      const marker = join(world.folder.path, 'ran');
      const command = ['touch', marker];
      const orders = [
        { cgroupProcs: ['/sys/fs/cgroup/no/such/cgroup.procs'] },
        { namespaces: [{ kind: 'net' as const, path: '/run/netns/no-such' }] },
        { join: { pid: process.pid, start: 1 } },
        { rlimits: [{ name: 'nofile' as const, soft: 2, hard: 1 }] },
        { oomScoreAdj: 5000 },
      ];
      const exits = await Promise.all(
        orders.map(async (order) => world.exit(await world.begin(command, order))),
      );
      expect(exits.map(({ execStep = '' }) => execStep.split(' ')[0])).toEqual([
        ...['cgroup', 'namespace', 'join', 'rlimit', 'oom_score_adj'],
      ]);
      expect(exits.every(({ execErrno = 0 }) => execErrno > 0)).toBe(true);
      expect(spawnSync('test', ['-e', marker]).status).toBe(1);
    });

    itWhere(noGroups, 'its groups, before its first instruction', async () => {
      using group = testGroup(unified ?? '');
      const name = await world.shell('cat /proc/self/cgroup', { cgroupProcs: [group.file('cgroup.procs')] });
      expect(await said(name)).toContain(group.path.slice((unified ?? '').length));
    });

    itWhere(noGroups, 'its shim in groups of the shims, and itself not', async () => {
      using group = testGroup(unified ?? '');
      const other = new ShimWorld({ kind: 'native', path }, undefined, [group.file('cgroup.procs')]);
      const name = await other.shell('cat /proc/self/cgroup; exec sleep 1000', {
        cgroupProcs: [join(unified ?? '', 'cgroup.procs')],
      });
      const { pid } = await other.started(name);
      const claim = JSON.parse(readFileSync(other.pathOf(name, 'claim'), 'utf8')) as { pid: number };
      expect(group.processes()).toContain(claim.pid);
      expect(group.processes()).not.toContain(pid);
      await other.close();
    });

    itWhere(noGroups, 'can be frozen and thawed', async () => {
      using group = testGroup(unified ?? '');
      const name = await world.begin(['cat'], {
        ...{ stdin: 'open', cgroupProcs: [group.file('cgroup.procs')] },
        ...{
          freezeFile: group.file('cgroup.freeze'),
          kill: [{ kind: 'cgroup', path: group.file('cgroup.kill') }],
        },
      });
      const link = await world.link(name);
      expect(await link.freeze(true)).toBe(0);
      expect(await link.state()).toMatchObject({ frozen: true });
      await until(() => readFileSync(group.file('cgroup.events'), 'utf8').includes('frozen 1'));
      await link.freeze(false);
      await until(() => readFileSync(group.file('cgroup.events'), 'utf8').includes('frozen 0'));
      await link.freeze(true);
      await link.killTree();
      expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL' });
    });

    itWhere(
      groupsMissing({ 'v1 memory': memory }),
      'I35 who was killed for memory is said to be',
      async () => {
        using group = testGroup(memory ?? '');
        writeFileSync(group.file('memory.limit_in_bytes'), String(16 << 20));
        const name = await world.begin(['sh', '-c', 'exec tail /dev/zero'], {
          ...{ cgroupProcs: [group.file('tasks')], oomFiles: [group.file('memory.oom_control')] },
        });
        expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL', oomKills: 1 });
      },
    );

    itWhere(noUnshare, 'a command enters all namespaces of its task, also that of pids', async () => {
      const script = 'hostname inside; echo up; exec sleep 1000';
      const task = await world.begin([
        'unshare',
        '--net',
        '--uts',
        '--mount',
        '--pid',
        '--fork',
        '--kill-child',
        'sh',
        '-c',
        script,
      ]);
      await world.printed(task, 'up');
      const { pid: outer } = await world.started(task);
      const child = Number(readFileSync(`/proc/${String(outer)}/task/${String(outer)}/children`, 'utf8'));
      const init = await world.begin(['sh', '-c', 'hostname; echo $$; readlink /proc/self/ns/net; exit 7'], {
        join: { pid: child, start: startOf(child) },
      });
      expect(await world.exit(init)).toMatchObject({ code: 7 });
      const [hostname, pid] = world.output(init).toString().split('\n');
      expect(hostname).toBe('inside');
      expect(Number(pid)).toBeLessThan(10);
      const { pid: seen } = await world.started(init);
      expect(seen).toBeGreaterThan(10);
      expect(readlinkSync(`/proc/${String(child)}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net'));
      await world.processes.killTree(task);
      await world.exit(task);
    });

    itWhere(program('bwrap'), 'a command inside a sandbox is as shut in as its task', async () => {
      const sandbox = [
        'bwrap',
        '--unshare-all',
        '--die-with-parent',
        '--cap-drop',
        'ALL',
        '--ro-bind',
        '/',
        '/',
      ];
      const mounts = ['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--chdir', '/tmp'];
      const task = await world.begin(
        [...sandbox, ...mounts, 'sh', '-c', 'echo mine > /tmp/mark; echo up; sleep 1000'],
        {
          ...{ inner: true, inside: { cwd: '/tmp' } },
        },
      );
      await world.printed(task, 'up');
      const script =
        'cat mark; grep -E "Cap(Eff|Bnd)|NoNewPrivs" /proc/self/status; touch /etc/x; ls /proc | grep -c 1';
      const name = await world.processes.exec(task, 'c', { command: ['sh', '-c', script] });
      expect(await world.exit(name ?? '')).toMatchObject({ code: 0 });
      const lines = world.output(name ?? '').toString();
      expect(lines).toMatch(/^mine\nCapEff:\t0{16}\nCapBnd:\t0{16}\nNoNewPrivs:\t1\n/);
      expect(world.output(name ?? '', 'stderr').toString()).toContain('Read-only file system');
      await world.processes.killTree(task);
      await world.exit(task);
    });

    it('a task is born with its three descriptors and no more, however few it may have', async () => {
      const name = await world.begin(['ls', '/proc/self/fd'], {
        rlimits: [{ name: 'nofile', soft: 8, hard: 8 }],
      });
      // The last one is that of the listing itself.
      expect(await said(name)).toBe('0\n1\n2\n3\n');
    });

    it('a terminal, with echo, size, signals of its keys, and an end', async () => {
      const script = 'stty size; trap "echo resized; stty size" WINCH; cat; echo over';
      const name = await world.shell(script, { pty: { rows: 30, columns: 100 } });
      const link = await world.link(name);
      await world.printed(name, '30 100\r\n');
      expect(await link.writeStdin(0, Buffer.from('typed\n'))).toEqual({ next: 6 });
      await world.printed(name, 'typed\r\ntyped\r\n');
      expect(await link.state()).toMatchObject({ pty: true, rows: 30, columns: 100, stdinOpen: true });
      expect(await link.resize(40, 120)).toBe(0);
      expect(await link.endStdin(6)).toEqual({ next: 6 });
      expect(await world.exit(name)).toMatchObject({ code: 0, err: 0, cutShort: false });
      expect(world.output(name).toString()).toContain('resized\r\n40 120\r\n');
      expect(world.output(name).toString().endsWith('over\r\n')).toBe(true);
      link.close();
      const quit = await world.begin(['cat'], { pty: { rows: 1, columns: 1 } });
      const typist = await world.link(quit);
      await typist.writeStdin(0, Buffer.from('half\u0003'));
      expect(await world.exit(quit)).toMatchObject({ signal: 'SIGINT' });
      typist.close();
    });

    it('I23 adopts what a command created, and has its exact end', async () => {
      const pidFile = join(world.folder.path, 'adopted.pid');
      const go = join(world.folder.path, 'go');
      const body = `while [ ! -e ${go} ]; do sleep 0.01; done; echo from inside; exit 42`;
      const create = `setsid sh -c '${body}' & echo $! > ${pidFile}`;
      const name = await world.shell(create, { adopt: { pidFile, start: ['touch', go] } });
      expect(await world.exit(name)).toMatchObject({ code: 42, cutShort: false });
      const { pid } = await world.started(name);
      expect(pid).toBe(Number(readFileSync(pidFile, 'utf8')));
      expect(world.output(name).toString()).toBe('from inside\n');
    });

    it('I23 has the end of what it adopts also when that ends before its start does', async () => {
      const pidFile = join(world.folder.path, 'brief.pid');
      const go = join(world.folder.path, 'brief.go');
      const body = `while [ ! -e ${go} ]; do sleep 0.01; done; exit 42`;
      const create = `setsid sh -c '${body}' & echo $! > ${pidFile}`;
      const untilEnded = `touch ${go}; status=/proc/$(cat ${pidFile})/status
while [ -e $status ] && ! grep -q zombie $status; do sleep 0.01; done`;
      const name = await world.shell(create, { adopt: { pidFile, start: ['sh', '-c', untilEnded] } });
      expect(await world.exit(name)).toMatchObject({ code: 42, cutShort: false });
    });

    it('a container that cannot be created or started is told, and leaves nothing', async () => {
      const pidFile = join(world.folder.path, 'failed.pid');
      const create = `echo why >&2; sleep 1000 & echo $! > ${pidFile}; exit 3`;
      const created = await world.shell(create, { adopt: { pidFile, start: [] } });
      expect(await world.exit(created)).toMatchObject({
        execStep: "the container's creation ended with 3",
        left: 0,
      });
      expect(world.output(created, 'stderr').toString()).toBe('why\n');
      const pid = Number(readFileSync(pidFile, 'utf8'));
      expect(() => process.kill(pid, 0)).toThrow();
      const adopt = { pidFile, start: ['false'] };
      const started = await world.shell(`sleep 1000 & echo $! > ${pidFile}`, { adopt });
      expect(await world.exit(started)).toMatchObject({
        execStep: "the container's start ended with 1",
        left: 0,
      });
      const alien = await world.shell(`echo 1 > ${pidFile}`, { adopt });
      expect(await world.exit(alien)).toMatchObject({ execStep: 'the pid file names no process of ours' });
    });

    it('no sanitizer complained', () => {
      expect(world.complaints()).toEqual([]);
    });
  });
});

function startOf(pid: number): number {
  const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19]);
}
