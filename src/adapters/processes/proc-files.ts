import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf } from '../adapters.ts';
import type { ProcessIdentity } from '../../ports/process.ts';

export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

interface ProcessStat {
  readonly state: string;
  readonly parent: number;
  /** Clock ticks from boot to start. */
  readonly start: number;
}

/** The name in field 2 may hold anything, blanks and brackets too, so fields are counted after its last bracket. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '?', parent: Number(fields[1]), start: Number(fields[19]) };
}

export function identityOfSelf(bootId: string): ProcessIdentity {
  const { start } = parseStat(readFileSync('/proc/self/stat', 'utf8'));
  return { boot: bootId, pid: process.pid, start };
}

/** Exactly this process, and not a zombie. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  try {
    const { state, start } = parseStat(await readFile(`/proc/${String(identity.pid)}/stat`, 'utf8'));
    return start === identity.start && state !== 'Z' && state !== 'X';
  } catch (error) {
    // Only its absence proves that it ended; a lack of file descriptors, for one, does not.
    if (GONE.has(errorCodeOf(error))) return false;
    throw error;
  }
}

const GONE = new Set(['ENOENT', 'ESRCH']);

/** Processes whose environment has all the marks, whatever their parent. @param marks `MOORAGE_ATTEMPT=a.main.1` */
export async function findMarked(marks: readonly string[]): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    const pid = Number(name);
    if (pid !== process.pid && (await carries(pid, marks))) found.push(pid);
  }
  return found;
}

async function carries(pid: number, marks: readonly string[]): Promise<boolean> {
  try {
    const environment = (await readFile(`/proc/${String(pid)}/environ`, 'utf8')).split('\0');
    if (!marks.every((mark) => environment.includes(mark))) return false;
    return parseStat(await readFile(`/proc/${String(pid)}/stat`, 'utf8')).state !== 'Z';
  } catch {
    // It has ended, or belongs to another user, as no process of a task does.
    return false;
  }
}

/** Processes in a control group; none when it is gone. */
export async function processesIn(group: string): Promise<readonly number[]> {
  const text = await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);
}

export function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
