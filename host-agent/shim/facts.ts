import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseStat } from '../../src/adapters/processes/proc-files.ts';
import { parseExecName } from '../../src/wire/host-files/attempt-files.ts';

/** The first writer of a name wins. @returns false when another writer was earlier */
export function publish(name: string, text: string, durable: boolean): boolean {
  const temporary = `.${name}.${String(process.pid)}`;
  const fd = openSync(temporary, 'w', 0o600);
  writeSync(fd, text);
  if (durable) fsyncSync(fd);
  closeSync(fd);
  try {
    linkSync(temporary, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
  if (durable) syncFolder();
  return true;
}

/** The folder was deleted: what is written here would never be read, and nothing can be. */
export function isDeserted(): boolean {
  return statSync('.').nlink === 0;
}

function syncFolder(): void {
  const fd = openSync('.', 'r');
  fsyncSync(fd);
  closeSync(fd);
}

/** Tells whoever watches `events`; the name comes and goes. */
export function notify(attempt: string): void {
  const exec = parseExecName(attempt);
  const path =
    exec === null
      ? join('..', '..', 'events', attempt)
      : join('..', '..', '..', '..', 'events', `${exec.attempt}~${exec.commandId}`);
  try {
    closeSync(openSync(path, 'w', 0o600));
  } catch {
    // A full disk has no room for a hint; the files are looked at anyway.
  }
  rmSync(path, { force: true });
}

export function startOf(pid: number): number {
  try {
    return parseStat(readFileSync(`/proc/${String(pid)}/stat`, 'utf8')).start;
  } catch {
    return 0;
  }
}
