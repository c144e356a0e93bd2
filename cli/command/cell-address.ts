import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MonitorAddresses } from '../../src/clients/monitor-failover.ts';
import { CliError, EXIT } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** `cell.json`, which `moorage dev` writes beside its data. */
export interface RunningCell {
  readonly cell: string;
  readonly pid: number;
  readonly etcd: readonly string[];
  readonly monitors: readonly string[];
  /** The folder with an operator's credentials; absent: the cell has none, and speaks plain. */
  readonly credentials?: string;
  readonly startedAtMs: number;
}

export const DEFAULT_ADDRESS = 'http://127.0.0.1:7070';

/**
 * The folder with the caller's credentials: option, `MOORAGE_CREDENTIALS`, or that of the development cell of this folder
 * that is called.
 */
export function credentialsFolder(
  sources: { readonly option: string | undefined; readonly env: Terminal['env']; readonly cwd: string },
  urls: readonly string[],
): string | null {
  const named = sources.option ?? sources.env.MOORAGE_CREDENTIALS ?? '';
  if (named !== '') return named;
  const called = runningCells(sources.cwd).find(({ monitors, etcd }) =>
    urls.every((url) => monitors.includes(url) || etcd.includes(url)),
  );
  return called?.credentials ?? null;
}

/** The monitors to call, most explicit source first: option, `MOORAGE_ADDR`, a development cell of this folder, default. */
export function monitorAddresses(sources: {
  readonly option: readonly string[];
  readonly env: Terminal['env'];
  readonly cwd: string;
}): MonitorAddresses {
  const option = split(sources.option);
  if (option.length > 0) return { urls: option.map((url) => checkUrl(url, '--address')), from: '--address' };
  const env = split([sources.env.MOORAGE_ADDR ?? '']);
  if (env.length > 0) return { urls: env.map((url) => checkUrl(url, 'MOORAGE_ADDR')), from: 'MOORAGE_ADDR' };
  const cell = runningCell(sources.cwd);
  if (cell !== null)
    return { urls: cell.monitors, from: `the development cell "${cell.cell}" of this folder` };
  return { urls: [DEFAULT_ADDRESS], from: 'the default address' };
}

function split(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

function checkUrl(written: string, from: string): string {
  const text = /^https?:\/\//.test(written) ? written : `http://${written}`;
  if (!URL.canParse(text))
    throw new CliError(EXIT.usage, `${from}: "${written}" is no address`, 'write it as http://host:port');
  return text.replace(/\/+$/, '');
}

/** The development cell that runs in this folder or one above it; the latest when there are several. */
export function runningCell(cwd: string): RunningCell | null {
  return runningCells(cwd)[0] ?? null;
}

/** Those of the nearest folder that has any; the latest first. */
function runningCells(cwd: string): readonly RunningCell[] {
  for (let folder = cwd; ; folder = join(folder, '..')) {
    const cells = cellsUnder(folder).sort((a, b) => b.startedAtMs - a.startedAtMs);
    if (cells.length > 0 || folder === join(folder, '..')) return cells;
  }
}

/** The development cells that run from this folder. */
export function cellsUnder(folder: string): RunningCell[] {
  const base = join(folder, '.moorage', 'cells');
  let names: string[] = [];
  try {
    names = readdirSync(base);
  } catch {
    return [];
  }
  return names.map((name) => readCell(join(base, name, 'cell.json'))).filter((cell) => cell !== null);
}

function readCell(file: string): RunningCell | null {
  try {
    const cell = JSON.parse(readFileSync(file, 'utf8')) as RunningCell;
    return isAlive(cell.pid) && cell.monitors.length > 0 ? cell : null;
  } catch {
    return null;
  }
}

/** The pid in a file that a killed cell left behind is of no process any more. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
