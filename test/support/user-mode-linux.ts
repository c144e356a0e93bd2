import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { firstMissing, program } from './needs.ts';

/**
 * A kernel of its own for a test: user-mode Linux on the root folder of this machine, with cgroup v2 and nothing of v1. It
 * boots in two seconds. What is written inside is written here: the root is the machine's own. It has one
 * disk of its own, since the machine's is no device inside, and only a device can be held to a speed.
 */
const here = dirname(fileURLToPath(import.meta.url));
const project = resolve(here, '..', '..');

/** @returns why there can be none here */
export function kernelMissing(): string | null {
  const linux =
    process.platform === 'linux' && process.arch === 'x64' ? null : 'user-mode Linux is for x86-64';
  return firstMissing(linux, program('linux.uml'), program('cc'), program('mkfs.ext4'));
}

const KERNEL_DISK = '/run/disk';
const DISK_BYTES = 32 * 1024 * 1024;
/** Of the first disk there. */
const DISK_NODE = '98 0';

const MEMORY = '384M';
/** A hundred times what it takes on a machine that is not busy; a test waits somewhat longer. */
const BOOT_AND_RUN_MS = 240_000;

/**
 * Runs a program of `test/support` under that kernel, as its init's only child.
 * @param entry gets the name of the file for its result, JSON, and a folder on its own disk
 * @throws with what the kernel and the program said, when there is no result
 */
export async function runInKernel<T>(entry: string): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-kernel-'));
  try {
    const main = transpile(join(here, entry), join(folder, 'program'));
    const result = join(folder, 'result.json');
    writeFileSync(join(folder, 'init.sh'), initScript(folder, main, result), { mode: 0o755 });
    makeDisk(join(folder, 'disk'));
    const said = await boot(folder, preload(folder));
    try {
      return JSON.parse(readFileSync(result, 'utf8')) as T;
    } catch {
      throw new Error(`no result from the kernel:\n${read(join(folder, 'init.log'))}\n${said}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** No busybox before /proc is the guest's own: it starts its applets by `/proc/self/exe`, which is still the host's. */
function initScript(folder: string, main: string, result: string): string {
  return `#!/bin/sh
exec >${folder}/init.log 2>&1 </dev/null
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmp /run
mknod /run/ubda b ${DISK_NODE}
mkdir ${KERNEL_DISK}
mount -t ext4 /run/ubda ${KERNEL_DISK}
'${process.execPath}' '${main}' '${result}' '${KERNEL_DISK}'
echo "ended with $?"
echo o >/proc/sysrq-trigger
sleep 5
`;
}

function boot(folder: string, library: string): Promise<string> {
  const args = [
    `mem=${MEMORY}`,
    ...['root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'rw', `init=${folder}/init.sh`],
    `ubd0=${folder}/disk`,
    ...['con=null', 'con0=null,fd:2', `uml_dir=${folder}`, 'umid=kernel'],
  ];
  // A session of its own: a kernel is many processes, and on time-out all of them must go.
  const child = spawn('linux.uml', args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, LD_PRELOAD: library, TMPDIR: folder },
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const timer = setTimeout(() => end(child.pid), BOOT_AND_RUN_MS);
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', () => {
      clearTimeout(timer);
      end(child.pid);
      done(said);
    });
  });
}

function end(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended in full.
  }
}

function makeDisk(path: string): void {
  writeFileSync(path, '');
  truncateSync(path, DISK_BYTES);
  const done = spawnSync('mkfs.ext4', ['-q', '-F', path], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stderr);
}

function preload(folder: string): string {
  const library = join(folder, 'uml-ptrace.so');
  const done = spawnSync(
    'cc',
    ['-shared', '-fPIC', '-O2', '-o', library, join(here, 'uml-ptrace.c'), '-ldl'],
    {
      encoding: 'utf8',
    },
  );
  if (done.status !== 0) throw new Error(done.stderr);
  return library;
}

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

/** The program and all that it imports, as JavaScript: a compiler would take longer inside than all the rest. */
function transpile(entry: string, folder: string): string {
  const done = new Set<string>();
  const open = [entry];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (done.has(file)) continue;
    done.add(file);
    const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions: OPTIONS });
    const target = targetOf(file, folder);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
    for (const [, path = ''] of outputText.matchAll(/from ['"](\.[^'"]+)\.js['"]/g))
      open.push(resolve(dirname(file), `${path}.ts`));
  }
  return targetOf(entry, folder);
}

function targetOf(file: string, folder: string): string {
  return join(folder, relative(project, file).replace(/\.ts$/, '.js'));
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
