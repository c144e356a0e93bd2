import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HostListAnswer } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { CLI, PROJECT_ROOT, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';

const folder = testFolder();
const METADATA = '169.254.169.254';
const ARG_BYTES = 4_000;
const BOMB_MAX = 600;
const HOSTS = 3;
/** Devices that are given to no task, by the numbers of a node: what lies on the machine's disk, its memory, its log, others. */
const DEVICES: Readonly<Record<string, readonly string[]>> = {
  disk: ['b', ...numbersOf(['/dev/vda', '/dev/sda', '/dev/nvme0n1'])],
  loop: ['b', '7', '0'],
  mem: ['c', '1', '1'],
  kmem: ['c', '1', '2'],
  kmsg: ['c', '1', '11'],
  fuse: ['c', '10', '229'],
  tun: ['c', '10', '200'],
  gpu: ['c', '195', '0'],
};
const NODES = `/dev/moorage-hostile-${String(process.pid)}-`;
/** Root of a user namespace may do these to itself and to what is its own. */
const OF_ROOT: readonly string[] = ['setuid', 'setgroups', 'chroot', 'root by a set-uid program'];
/** Of the system calls of this machine. */
const KEYCTL: Readonly<Record<string, number>> = { x64: 250, arm64: 219 };
/** Readable by all on a machine as it is set up: nothing of the cell's is in there. */
const UNHELD: readonly string[] = ['log of the kernel'];

const moorage = (...args: string[]) => runCli(args, { cwd: folder.path });

/** Of the first of these nodes that is there. */
function numbersOf(paths: readonly string[]): string[] {
  const path = paths.find((one) => existsSync(one));
  if (path === undefined) return ['8', '0'];
  const { stdout } = spawnSync('stat', ['-c', '%t %T', path], { encoding: 'utf8' });
  return stdout
    .trim()
    .split(' ')
    .map((hex) => String(Number.parseInt(hex, 16)));
}

/**
 * Nodes that let everybody in: only that no task may open the device keeps one from it. @returns those that a user of the
 * machine does open, so that it is seen that there is something to be kept from
 */
function openNodes(): string[] {
  return Object.entries(DEVICES).flatMap(([name, numbers]) => {
    const path = `${NODES}${name}`;
    expect(spawnSync('mknod', ['-m', '666', path, ...numbers]).status).toBe(0);
    const nobody = ['--reuid', '65534', '--regid', '65534', '--clear-groups'];
    const done = spawnSync('setpriv', [...nobody, 'sh', '-c', 'exec 3<"$0"', path], { encoding: 'utf8' });
    if (done.status === 0) return [path];
    process.stdout.write(`not tried, since this machine has none or opens it for nobody: ${name}\n`);
    return [];
  });
}

/** Files of the cell that a role keeps to itself. */
function secretsIn(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter(
      (name) => /key|secret|token|\.pem$|spec\.json$|launch$|journal$/.test(name) && statSync(name).isFile(),
    )
    .slice(0, 40);
}

/** A process and all that it has begun. */
function familyOf(pid: number): number[] {
  const of = (one: number): number[] => {
    try {
      const text = readFileSync(`/proc/${String(one)}/task/${String(one)}/children`, 'utf8');
      return text
        .split(' ')
        .map(Number)
        .filter((child) => child > 0);
    } catch {
      return [];
    }
  };
  return [pid, ...of(pid).flatMap(familyOf)];
}

/** Ports at which these processes listen. */
function portsOf(pids: readonly number[]): number[] {
  const { stdout } = spawnSync('ss', ['-Hltnp'], { encoding: 'utf8' });
  const ours = stdout.split('\n').filter((line) => pids.some((pid) => line.includes(`pid=${String(pid)},`)));
  return [...new Set(ours.map((line) => Number(/:(\d+)\s/.exec(line)?.[1])))];
}

/** Number of the ring of keys that every process here has that did not begin one of its own. */
function sessionRing(): number {
  const call = `import ctypes; print(ctypes.CDLL(None).syscall(${String(KEYCTL[process.arch] ?? 0)}, 0, -3, 0))`;
  return Number(spawnSync('python3', ['-c', call], { encoding: 'utf8' }).stdout);
}

/** Without the devices of cgroup v1 a plain process opens those that the machine lets everybody open. */
function isForAll(line: string): boolean {
  if (existsSync('/sys/fs/cgroup/devices/devices.allow')) return false;
  const path = /^REACHED device (.+): /.exec(line)?.[1];
  return path !== undefined && (statSync(path).mode & 0o004) !== 0;
}

/** The rules of the cell's hosts. */
function tables(): string[] {
  const { stdout } = spawnSync('nft', ['list', 'ruleset'], { encoding: 'utf8' });
  return stdout.split(/^table /m).filter((text) => text.includes(`comment "${folder.path}/`));
}

describeNeeding(
  firstMissing(
    root(),
    program('cc'),
    program('python3'),
    program('nft'),
    program('ss'),
    program('bwrap'),
    program('setpriv'),
  ),
  'a hostile task in a cell of real processes',
  () => {
    let cell: DevCellProcess;
    let metadata: Server;
    let targets: Record<string, unknown>;
    let pids: number[] = [];
    let opened: string[] = [];
    const script = readFileSync(join(PROJECT_ROOT, 'test/support/hostile-task.py'), 'utf8');
    /** An argument has a bound, so the program comes in parts. */
    const parts = Array.from({ length: Math.ceil(script.length / ARG_BYTES) }, (_, n) =>
      script.slice(n * ARG_BYTES, (n + 1) * ARG_BYTES),
    );

    beforeAll(async () => {
      opened = openNodes();
      expect(opened).not.toEqual([]);
      spawnSync('ip', ['address', 'add', `${METADATA}/32`, 'dev', 'lo']);
      metadata = createServer((socket) => socket.end());
      await new Promise<void>((done) => metadata.listen(0, METADATA, done));
      cell = await startDevCell(folder.path);
      const victim = join(folder.path, 'victim.yaml');
      writeFileSync(
        victim,
        `name: victim\ncommand: [sh, -c, "echo secret >/tmp/left; echo secret >kept; echo up; exec sleep 1000"]\nresources: { memory: 32Mi, cpu: 100m }\n`,
      );
      expect(await moorage('run', victim)).toMatchObject({ code: 0 });
      while (!(await moorage('logs', 'victim')).stdout.includes('up')) continue;
      const cells = join(folder.path, '.moorage/cells', cell.file.cell);
      const roles = familyOf(cell.file.pid);
      // Names are answered to tasks, too.
      const open = await dnsPorts();
      const ports = portsOf(roles).filter((port) => !open.includes(port));
      // Without these there would be nothing to be kept from.
      const secrets = secretsIn(cells);
      const { port: metadataPort } = metadata.address() as { port: number };
      expect(secrets.some((path) => path.includes('keys'))).toBe(true);
      expect(ports.length).toBeGreaterThanOrEqual(6);
      for (const url of [...cell.file.etcd, ...cell.file.monitors])
        expect(ports).toContain(Number(new URL(url).port));
      const sleeper = spawnSync('pgrep', ['-f', '^sleep 1000$'], { encoding: 'utf8' })
        .stdout.split('\n')
        .map(Number);
      pids = [...roles, ...sleeper.filter((pid) => pid > 0)];
      // Each agent hears of the others in a while.
      const isKept = (table: string): boolean => ports.every((port) => table.includes(String(port)));
      while (tables().filter(isKept).length < HOSTS) await new Promise((next) => setTimeout(next, 100));
      const works = readdirSync(cells, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('/kept'),
      );
      expect(works.length).toBe(1);
      targets = {
        secrets,
        folders: [cells, join(cells, 'keys'), folder.path],
        victimFiles: works.map((name) => join(cells, name)),
        disks: ['/dev/vda', '/dev/sda', '/dev/nvme0n1'],
        programs: [CLI, join(PROJECT_ROOT, 'dist/host-agent/native/moorage-shim')],
        left: ['/tmp/left', '/var/tmp/left', '/dev/shm/left'],
        ports: [...ports.map((port) => ['127.0.0.1', port]), [METADATA, metadataPort]],
        keyctl: KEYCTL[process.arch] ?? 0,
        session: sessionRing(),
        nodes: Object.keys(DEVICES).map((name) => `${NODES}${name}`),
        bombMax: BOMB_MAX,
      };
    });

    afterAll(async () => {
      for (const name of Object.keys(DEVICES)) rmSync(`${NODES}${name}`, { force: true });
      metadata.close();
      spawnSync('ip', ['address', 'delete', `${METADATA}/32`, 'dev', 'lo']);
      const ended = await cell.stop();
      expect(ended.code).toBe(0);
      expect(tables()).toEqual([]);
      folder[Symbol.dispose]();
    });

    async function dnsPorts(): Promise<number[]> {
      const { hosts } = JSON.parse((await moorage('hosts', '-o', 'json')).stdout) as HostListAnswer;
      const ports = hosts.map(({ host }) => Number(host?.attributes['dns']?.split(':').at(-1)));
      expect(ports).toHaveLength(HOSTS);
      for (const port of ports) expect(port).toBeGreaterThan(0);
      return ports;
    }

    function hostile(name: string, more: Readonly<Record<string, unknown>>): Promise<string> {
      const file = join(folder.path, `${name}.json`);
      const command = ['python3', '-c', 'import sys; exec("".join(sys.argv[1:]))', ...parts];
      const limits = { pids: 200 };
      const resources = { memory: '256Mi', cpu: '100m' };
      const env = { TARGETS: JSON.stringify(targets) };
      writeFileSync(file, JSON.stringify({ name, type: 'batch', command, env, limits, resources, ...more }));
      return moorage('run', file).then(async () => (await moorage('logs', name)).stdout);
    }

    /** @returns what it reached and is not known to be open to all */
    function reached(said: string): string[] {
      expect(said).toContain('tried all');
      expect(said.split('\n').filter((line) => line.startsWith('held ')).length).toBeGreaterThan(100);
      const open = said.split('\n').filter((line) => line.startsWith('REACHED '));
      const unheld = open.filter(
        (line) => UNHELD.some((what) => line.startsWith(`REACHED ${what}`)) || isForAll(line),
      );
      for (const line of unheld)
        process.stdout.write(`not held by this machine: ${line.slice('REACHED '.length)}\n`);
      return open.filter((line) => !unheld.includes(line));
    }

    it('I68 a hostile plain task reaches nothing of the cell, of other tasks and of the machine', async () => {
      targets['pids'] = [...pids, 1];
      const said = await hostile('hostile', {});
      expect(reached(said)).toEqual([]);
      for (const path of opened) expect(said).toContain(`device ${path}`);
    });

    it('I68 a hostile task in a sandbox with the network of its host reaches nothing either', async () => {
      // Its process 1 is its own.
      targets['pids'] = pids;
      expect(reached(await hostile('hostile-box', { driver: 'sandbox', network: 'host' }))).toEqual([]);
    });

    it('I68 nor does one that is root of a user namespace, but for what is its own', async () => {
      const more = { driver: 'sandbox', network: 'host', user: 'root' };
      const open = reached(await hostile('hostile-root', more));
      expect(open).toContain('REACHED setuid: root');
      expect(open.filter((line) => !OF_ROOT.some((what) => line.startsWith(`REACHED ${what}: `)))).toEqual(
        [],
      );
    });

    it('I68 a hostile task that fills the disk is ended, and what it wrote is gone', async () => {
      const run = await moorage(
        'run',
        '--disk',
        '20Mi',
        '--',
        'sh',
        '-c',
        'i=0; while [ $i -lt 100 ]; do head -c 4M /dev/zero >/tmp/$i; i=$((i+1)); sleep 0.2; done',
      );
      expect(run.code).not.toBe(0);
      expect(run.stderr).toContain('out of disk');
    });
  },
);
