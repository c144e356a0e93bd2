import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MonitorAddresses } from '../clients/monitor-failover.ts';
import type { SavedContext } from './contexts.ts';
import { chosenContext } from './contexts.ts';
import type { Environment } from './connect-error.ts';
import { ConnectError } from './connect-error.ts';

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
  sources: { readonly option: string | undefined; readonly env: Environment; readonly cwd: string },
  urls: readonly string[],
): string | null {
  const named = sources.option ?? sources.env.MOORAGE_CREDENTIALS ?? '';
  if (named !== '') return named;
  const called = runningCells(sources.cwd).find(({ monitors, etcd }) =>
    urls.every((url) => monitors.includes(url) || etcd.includes(url)),
  );
  return called?.credentials ?? null;
}

export interface FoundCell {
  readonly addresses: MonitorAddresses;
  /** Whose the addresses are; null: of no saved context, so that nothing of one may be shown there. */
  readonly context: SavedContext | null;
}

/**
 * The monitors to call, most explicit source first: option, `MOORAGE_ADDR`, the context that is named, a development cell of
 * this folder, the current context, default.
 */
export function findCell(sources: {
  readonly option: readonly string[];
  readonly context: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}): FoundCell {
  const chosen = chosenContext(sources.context, sources.env);
  const written = writtenAddresses(sources);
  if (written !== null) {
    const isKnown = written.urls.every((url) => chosen?.context.addresses.includes(url));
    return { addresses: written, context: isKnown ? (chosen?.context ?? null) : null };
  }
  const saved: FoundCell | null =
    chosen === null
      ? null
      : {
          addresses: { urls: chosen.context.addresses, from: `the context ${chosen.name}` },
          context: chosen.context,
        };
  if (saved !== null && chosen?.isNamed === true) return saved;
  const cell = runningCell(sources.cwd);
  if (cell !== null) {
    const from = `the development cell "${cell.cell}" of this folder`;
    return { addresses: { urls: cell.monitors, from }, context: null };
  }
  return saved ?? { addresses: { urls: [DEFAULT_ADDRESS], from: 'the default address' }, context: null };
}

function writtenAddresses(sources: {
  readonly option: readonly string[];
  readonly env: Environment;
}): MonitorAddresses | null {
  const option = splitAddresses(sources.option, '--address');
  if (option.length > 0) return { urls: option, from: '--address' };
  const env = splitAddresses([sources.env.MOORAGE_ADDR ?? ''], 'MOORAGE_ADDR');
  return env.length > 0 ? { urls: env, from: 'MOORAGE_ADDR' } : null;
}

/** @param from what named them, for messages. @throws ConnectError */
export function splitAddresses(texts: readonly string[], from: string): readonly string[] {
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => checkUrl(text, from));
}

function checkUrl(written: string, from: string): string {
  const text = /^https?:\/\//.test(written) ? written : `http://${written}`;
  if (!URL.canParse(text))
    throw new ConnectError(`${from}: "${written}" is no address`, 'write it as http://host:port');
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
