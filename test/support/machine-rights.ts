import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** What of this machine's kernel a test may use. */

/** The v2 hierarchy, alone or beside v1. @returns null where there is none that we may write to */
export function unifiedGroups(): string | null {
  return (
    ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find(
      (path) =>
        existsSync(join(path, 'cgroup.procs')) &&
        existsSync(join(path, 'cgroup.controllers')) &&
        writable(path),
    ) ?? null
  );
}

/** A v1 controller. @returns null where it is not mounted, or not ours to write to */
export function firstGroups(controller: 'freezer' | 'pids' | 'memory'): string | null {
  const path = join('/sys/fs/cgroup', controller);
  return existsSync(join(path, 'cgroup.procs')) && writable(path) ? path : null;
}

function writable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export interface TestGroup {
  readonly path: string;
  file(name: string): string;
  processes(): readonly number[];
  [Symbol.dispose](): void;
}

/** A group of our own, taken away again when the last process has left. */
export function testGroup(parent: string): TestGroup {
  const path = mkdtempSync(join(parent, 'moorage-test-'));
  mkdirSync(path, { recursive: true });
  const file = (name: string): string => join(path, name);
  return {
    path,
    file,
    processes: () => readFileSync(file('cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number),
    [Symbol.dispose]: () => removeGroup(path),
  };
}

const REMOVE_TRIES_MAX = 500;

/** A group stays busy for some milliseconds after its last process. */
function removeGroup(path: string): void {
  for (let tries = 0; ; tries++) {
    try {
      rmdirSync(path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      if (tries >= REMOVE_TRIES_MAX) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** @returns why we may not make such namespaces; null when we may. @param flags of `unshare` */
export function unsharing(...flags: readonly string[]): string | null {
  const done = spawnSync('unshare', [...flags, 'true'], { encoding: 'utf8' });
  return done.status === 0 ? null : `unshare ${flags.join(' ')} is refused here`;
}

/** @returns why not, for `itWhere` */
export function groupsMissing(groups: Readonly<Record<string, string | null>>): string | null {
  const missing = Object.entries(groups).find(([, path]) => path === null)?.[0];
  return missing === undefined ? null : `there is no ${missing} cgroup that we may write to`;
}
