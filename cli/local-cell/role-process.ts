import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import type { ProcessEnd, ProcessLife } from './kept-process.ts';

/** What a role prints on standard output when it serves. */
export interface ReadyLine {
  readonly ready: true;
  readonly id: string;
  readonly address: string;
}

export interface RoleProcessOptions {
  readonly name: string;
  /** Of `node`: the built command line, and its own arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its standard error is added there. */
  readonly logFile: string;
}

/** A limit for a start that hangs: a dozen roles begin at once, and the machine may have other work. */
const READY_TIMEOUT_MS = 120_000;
/** Its output is read by then; only processes that it left running hold the pipes for longer, and they are logged too. */
const LAST_OUTPUT_MS = 500;
/** Of its log, in the message about its end. */
const LINES_TOLD = 5;

/**
 * One process of a role, from its start to its end. It leads a process group of its own, so that Ctrl-C in a terminal reaches
 * only us and the order is ours; its standard input is a pipe from us, and it stops when that closes, so that it does not
 * outlive us even if we are killed.
 */
export class RoleProcess implements ProcessLife<ReadyLine> {
  readonly ready: Promise<ReadyLine>;
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  #lastLines: readonly string[] = [];

  constructor(options: RoleProcessOptions) {
    const startedMs = performance.now();
    const child = spawn(process.execPath, options.args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env, MOORAGE_STOP_WITH_PARENT: '1' },
    });
    this.#child = child;
    // Nothing is ever written there; the pipe's end is the message.
    child.stdin.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      const over = (how: string): void => resolve({ how, livedMs: performance.now() - startedMs });
      child.once('error', (error) => over(`could not be started: ${error.message}`));
      child.once('exit', (code, signal) => {
        const ended = (): void => over(signal ?? `exit code ${String(code)}`);
        const timer = setTimeout(ended, LAST_OUTPUT_MS);
        child.once('close', () => {
          clearTimeout(timer);
          ended();
        });
      });
    });
    this.#keepLog(child.stderr, options.logFile);
    this.ready = this.#waitUntilReady(options.name, child.stdout);
    // A caller that awaits only `ended` learns there what became of it.
    this.ready.catch(() => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get lastLines(): readonly string[] {
    return this.#lastLines;
  }

  async stop(graceMs: number): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), graceMs);
    await this.ended;
    clearTimeout(timer);
  }

  #keepLog(stderr: Readable, logFile: string): void {
    const log = createWriteStream(logFile, { flags: 'a' });
    createInterface({ input: stderr }).on('line', (line) => {
      log.write(`${line}\n`);
      this.#lastLines = [...this.#lastLines.slice(1 - LINES_TOLD), line];
    });
    // Not when the process ends: processes that it left running may still write, and must not block on the pipe.
    stderr.once('close', () => log.end());
  }

  #waitUntilReady(name: string, stdout: Readable): Promise<ReadyLine> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#child.kill('SIGKILL');
        fail(`did not get ready within ${String(READY_TIMEOUT_MS / 1000)} s`);
      }, READY_TIMEOUT_MS);
      const fail = (why: string): void => {
        clearTimeout(timer);
        reject(new Error([`${name} ${why}`, ...this.#lastLines.map((line) => `  ${line}`)].join('\n')));
      };
      void this.ended.then(({ how }) => fail(`ended before it was ready (${how})`));
      createInterface({ input: stdout }).on('line', (line) => {
        const ready = parseReady(line);
        if (ready === null) return;
        clearTimeout(timer);
        resolve(ready);
      });
    });
  }
}

function parseReady(line: string): ReadyLine | null {
  if (!line.startsWith('{')) return null;
  try {
    const value = JSON.parse(line) as Partial<ReadyLine>;
    return value.ready === true && typeof value.id === 'string' && typeof value.address === 'string'
      ? { ready: true, id: value.id, address: value.address }
      : null;
  } catch {
    return null;
  }
}
