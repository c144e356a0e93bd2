import { closeSync, mkdirSync, openSync, rmdirSync, writeSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CgroupErrorCode, CgroupMount, Cgroups, CgroupValue } from '../../ports/cgroups.ts';
import { CgroupError } from '../../ports/cgroups.ts';
import { killNow, processesIn } from './proc-files.ts';

/** The control groups of a Linux machine. @param mountInfo for tests; else those of this process */
export function linuxCgroups(mountInfo = '/proc/self/mountinfo'): Cgroups {
  return {
    async mounts() {
      const text = await readFile(mountInfo, 'utf8').catch(() => '');
      return Promise.all(parseMounts(text).map(withControllers));
    },
    async make(group, values = []) {
      change(group, () => mkdirSync(group, { recursive: true }));
      for (const value of values) set(group, value);
    },
    remove,
    list,
    read: (file) => readFile(file, 'utf8').catch(() => null),
    write: async (file, text) => write(file, text),
    async killListed(group) {
      const pids = await processesIn(group);
      for (const pid of pids) killNow(pid);
      return pids.length;
    },
    pressure: () => readFile('/proc/pressure/memory', 'utf8').catch(() => null),
    deviceOf,
  };
}

/** A machine without control groups, or one whose groups must not be used. */
export const NO_CGROUPS: Cgroups = { ...linuxCgroups(), mounts: async () => [] };

/** Mounts of control groups in a `mountinfo`. Of several at one path the last one covers the others. */
export function parseMounts(text: string): CgroupMount[] {
  const found = new Map<string, CgroupMount>();
  for (const line of text.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , , path = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (type === 'cgroup2') found.set(path, { version: 2, controllers: [], path });
    if (type === 'cgroup') {
      const controllers = options.split(',').filter((name) => V1_CONTROLLERS.has(name));
      if (controllers.length > 0) found.set(path, { version: 1, controllers, path });
    }
  }
  return [...found.values()];
}

const V1_CONTROLLERS = new Set(['memory', 'cpu', 'cpuacct', 'pids', 'blkio', 'freezer', 'devices']);

async function withControllers(mount: CgroupMount): Promise<CgroupMount> {
  if (mount.version === 1) return mount;
  const text = await readFile(join(mount.path, 'cgroup.controllers'), 'utf8').catch(() => '');
  return { ...mount, controllers: text.split(/\s+/).filter((name) => name !== '') };
}

async function list(group: string): Promise<readonly string[]> {
  const entries = await readdir(group, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

/** Removes the groups below it first; the files in a group need not be removed. */
async function remove(group: string): Promise<'removed' | 'busy'> {
  if (removeOne(group) === 'removed') return 'removed';
  const below = await list(group);
  for (const name of below) if ((await remove(join(group, name))) === 'busy') return 'busy';
  return below.length === 0 ? 'busy' : removeOne(group);
}

function removeOne(group: string): 'removed' | 'busy' {
  try {
    rmdirSync(group);
    return 'removed';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'removed';
    if (code === 'EBUSY' || code === 'ENOTEMPTY') return 'busy';
    throw problem(group, error);
  }
}

function set(group: string, { file, text, mayLack }: CgroupValue): void {
  try {
    write(join(group, file), text);
  } catch (error) {
    if (!(error instanceof CgroupError) || error.code !== 'absent' || mayLack !== true) throw error;
  }
}

/** One write(2): the kernel takes a value in one piece or not at all. */
function write(path: string, text: string): void {
  change(path, () => {
    const file = openSync(path, 'r+');
    try {
      writeSync(file, text);
    } finally {
      closeSync(file);
    }
  });
}

function change(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw problem(path, error);
  }
}

const CODES: Readonly<Record<string, CgroupErrorCode>> = {
  ENOENT: 'absent',
  ENODEV: 'absent',
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
};

function problem(path: string, error: unknown): CgroupError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return new CgroupError(CODES[code] ?? 'refused', `${path}: ${code}`, error);
}

/** Limits are set for whole disks; a partition's parent in sysfs is its disk. */
async function deviceOf(folder: string): Promise<string | null> {
  try {
    const { dev } = await stat(folder);
    const link = `/sys/dev/block/${deviceText(dev)}`;
    const own = await realpath(link);
    const isPart = await stat(join(own, 'partition')).then(
      () => true,
      () => false,
    );
    return (await readFile(join(isPart ? dirname(own) : own, 'dev'), 'utf8')).trim();
  } catch {
    return null;
  }
}

/** The kernel's packing of a device number, as stat(2) gives it. */
function deviceText(dev: number): string {
  const wide = BigInt(dev);
  const major = ((wide >> 8n) & 0xfffn) | ((wide >> 32n) & 0xfffff000n);
  const minor = (wide & 0xffn) | ((wide >> 12n) & 0xffffff00n);
  return `${String(major)}:${String(minor)}`;
}
