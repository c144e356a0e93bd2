import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunningCell } from '../../src/connect/cell-address.ts';
import { removeFolder } from './folders.ts';

export const PROJECT_ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
/** The built command line. */
export const CLI = join(PROJECT_ROOT, 'dist', 'cli', 'main.cjs');

export interface CliResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** It is ended by SIGTERM after this time. */
  readonly endMs?: number;
  /** Another one than the built one. */
  readonly cli?: string;
}

/** Runs the built command line to its end, as a person would in `cwd`. */
export function runCli(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: options.cwd,
    env: { ...process.env, NO_COLOR: '1', ...options.env },
    timeout: options.endMs,
  });
  child.stdin.end(options.input ?? '');
  return ended(child);
}

export interface CliProcess {
  /** All that it printed so far, errors too. */
  readonly output: () => string;
  /** Resolves when the output holds the text; fails when it ends without. */
  readonly says: (text: string | RegExp) => Promise<void>;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly end: Promise<CliResult>;
}

/** The built command line under way in `cwd`. */
export function startCli(args: readonly string[], { cwd, env, cli = CLI }: CliOptions): CliProcess {
  // Its standard input stays open for as long as we live: a killed test leaves no cell behind.
  const child = spawn(process.execPath, [cli, ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', MOORAGE_STOP_WITH_PARENT: '1', ...env },
  });
  const end = ended(child);
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      for (const listener of listeners) listener();
    });
  const says = (text: string | RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (typeof text === 'string' ? !output.includes(text) : !text.test(output)) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
      void end.then((result) => reject(new Error(`it ended: ${result.stdout}\n${result.stderr}`)));
    });
  return { output: () => output, says, kill: (signal) => void child.kill(signal), end };
}

/** Resolves when the process has ended, with all that it printed from now on. */
export function ended(child: ChildProcess): Promise<CliResult> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** A folder of the test's own, with a space in its path, gone afterwards. */
export function testFolder(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'moorage test-'));
  return { path, [Symbol.dispose]: () => removeFolder(path) };
}

export interface DevCellProcess {
  readonly folder: string;
  readonly file: RunningCell;
  /** All that it printed so far. */
  output(): string;
  /** Resolves when the output holds the text. */
  says(text: string | RegExp): Promise<void>;
  /** As Ctrl-C does. @returns how it ended */
  stop(): Promise<CliResult>;
}

/** One of each role that a batch job needs: each process of a cell costs a test a second or two of processor. */
export const ONE_OF_EACH = [
  ...['--hosts', '1', '--monitors', '1', '--arbiters', '1'],
  ...['--schedulers', 'batch'],
] as const;

/** `moorage dev --no-demo` in `folder`, up and ready. */
export function startDevCell(
  folder: string,
  more: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<DevCellProcess> {
  return startDev(folder, ['--no-demo', ...more], env);
}

/** The process of a role, as the cell's screen tells it. */
export function pidIn(cell: DevCellProcess, name: string): number {
  return Number(new RegExp(`processes:.*\\b${name} (\\d+)`).exec(cell.output())?.[1]);
}

/** @returns the folder with the credentials, from the authority of the development cell */
export async function issueFor(cell: DevCellProcess, role: string, id: string): Promise<string> {
  const authority = join(cell.folder, '.moorage', 'cells', cell.file.cell, 'pki');
  const issued = await runCli(['pki', 'issue', authority, '--role', role, '--id', id], { cwd: cell.folder });
  if (issued.code !== 0) throw new Error(issued.stderr);
  return issued.stdout.trim();
}

/** A development cell that has shown its demonstration. */
export function startShownCell(folder: string): Promise<DevCellProcess> {
  return startDev(folder, [], {});
}

async function startDev(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<DevCellProcess> {
  const { output, says, kill, end } = startCli(['dev', ...args], { cwd: folder, env });
  await says('Ctrl-C stops it');
  const cellFile = /data: (.*)$/m.exec(output())?.[1] ?? '';
  const path = join(folder, cellFile, 'cell.json');
  if (!existsSync(path)) throw new Error(`no cell file at ${path}:\n${output()}`);
  const file = JSON.parse(readFileSync(path, 'utf8')) as RunningCell;
  return {
    folder,
    file,
    output,
    says,
    stop: () => {
      kill('SIGINT');
      return end;
    },
  };
}
