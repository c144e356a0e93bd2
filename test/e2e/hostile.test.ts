import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DevCellProcess } from '../support/cli.ts';
import { CLI, PROJECT_ROOT, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';

const folder = testFolder();
const METADATA = '169.254.169.254';
const ARG_BYTES = 4_000;
const BOMB_MAX = 600;
const HOSTS = 3;
/** Of the system calls of this machine. */
const KEYCTL: Readonly<Record<string, number>> = { x64: 250, arm64: 219 };
/** Readable by all on a machine as it is set up: nothing of the cell's is in there. */
const UNHELD: readonly string[] = ['log of the kernel'];

const moorage = (...args: string[]) => runCli(args, { cwd: folder.path });

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
  firstMissing(root(), program('cc'), program('python3'), program('nft'), program('ss'), program('bwrap')),
  'a hostile task in a cell of real processes',
  () => {
    let cell: DevCellProcess;
    let metadata: Server;
    let targets: Record<string, unknown>;
    let pids: number[] = [];
    const script = readFileSync(join(PROJECT_ROOT, 'test/support/hostile-task.py'), 'utf8');
    /** An argument has a bound, so the program comes in parts. */
    const parts = Array.from({ length: Math.ceil(script.length / ARG_BYTES) }, (_, n) =>
      script.slice(n * ARG_BYTES, (n + 1) * ARG_BYTES),
    );

    beforeAll(async () => {
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
      const ports = portsOf(roles);
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
        bombMax: BOMB_MAX,
      };
    });

    afterAll(async () => {
      metadata.close();
      spawnSync('ip', ['address', 'delete', `${METADATA}/32`, 'dev', 'lo']);
      const ended = await cell.stop();
      expect(ended.code).toBe(0);
      expect(tables()).toEqual([]);
      folder[Symbol.dispose]();
    });

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
      expect(reached(await hostile('hostile', {}))).toEqual([]);
    });

    it('I68 a hostile task in a sandbox with the network of its host reaches nothing either', async () => {
      // Its process 1 is its own.
      targets['pids'] = pids;
      expect(reached(await hostile('hostile-box', { driver: 'sandbox', network: 'host' }))).toEqual([]);
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
