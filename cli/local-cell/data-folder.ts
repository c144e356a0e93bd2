import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../src/adapters/disk/make-folder.ts';
import { ID_RULE, isId } from '../../src/core/cell/ids.ts';
import type { RunningCell } from '../../src/connect/cell-address.ts';
import { CliError, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { writeExitCode } from '../command/write-exit-code.ts';

/** How many cells may run side by side from one folder; the bound only ends a search that would never end. */
const CELLS_MAX = 64;

/**
 * Takes the first free name of `<name>`, `<name>-2`, ... under `<base>/.moorage/cells/`: a cell that is running keeps its
 * folder, so that two can stand side by side, and a start after a stop finds the data of the last one.
 *
 * @throws CliError when the name is none, or the folder cannot be made or written
 */
export function takeDataFolder(base: string, name: string): DataFolder {
  if (!isId(name)) throw usageError(`--name ${name}: ${ID_RULE}`, 'moorage dev --name dev');
  for (let n = 1; n <= CELLS_MAX; n++) {
    const taken = n === 1 ? name : `${name}-${String(n)}`;
    const path = join(base, '.moorage', 'cells', taken);
    if (isTaken(path)) return new DataFolder(taken, path);
  }
  throw usageError(`${String(CELLS_MAX)} cells run under ${base}/.moorage`, 'moorage dev stop');
}

/** Makes the folder, and its lock; false when another cell has it. */
function isTaken(path: string): boolean {
  try {
    makeFolder(path);
    return takeLock(join(path, 'lock'));
  } catch (error) {
    throw new CliError(
      writeExitCode(error),
      `cannot make the folder ${path}: ${fileFault(error)}`,
      'start it from a folder that can be written, or make room',
      error,
    );
  }
}

/** Everything that one development cell writes. */
export class DataFolder {
  /** The cell's name, and its folder's. */
  readonly name: string;
  readonly path: string;

  constructor(name: string, path: string) {
    this.name = name;
    this.path = path;
  }

  get etcd(): string {
    return join(this.path, 'etcd');
  }

  get keys(): string {
    return join(this.path, 'keys');
  }

  /** The cell's authority, and what it issued. */
  get pki(): string {
    return join(this.path, 'pki');
  }

  get logs(): string {
    return join(this.path, 'logs');
  }

  host(id: string): string {
    return join(this.path, 'hosts', id);
  }

  /** Writes what other commands need to find the running cell. */
  announce(cell: RunningCell): void {
    writeFileSync(join(this.path, 'cell.json'), `${JSON.stringify(cell, null, 2)}\n`);
  }

  /** Removes what an earlier cell of this name left. */
  wipe(): void {
    for (const part of ['etcd', 'hosts', 'keys', 'logs', 'pki'])
      rmSync(join(this.path, part), { recursive: true, force: true, maxRetries: 5 });
  }

  /** Unlocks the folder for another start; with `erase` it is removed. */
  release(erase: boolean): void {
    rmSync(join(this.path, 'cell.json'), { force: true });
    rmSync(join(this.path, 'lock'), { force: true });
    if (erase) rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The lock names its holder by pid and start time, so that neither a crash nor a reused pid blocks the folder. */
function takeLock(path: string): boolean {
  const mine = `${String(process.pid)} ${startTimeOf(process.pid) ?? ''}`;
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      writeFileSync(path, mine, { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (isHeld(path)) return false;
    rmSync(path, { force: true });
  }
  return false;
}

function isHeld(path: string): boolean {
  try {
    const [pid, startTime] = readFileSync(path, 'utf8').split(' ');
    return startTime !== '' && startTimeOf(Number(pid)) === startTime;
  } catch {
    return false;
  }
}

/** Field 22 of `/proc/<pid>/stat`, counted after the last parenthesis: a command name may hold spaces and parentheses. */
function startTimeOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
