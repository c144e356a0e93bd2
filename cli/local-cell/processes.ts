import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** What a role prints on standard output when it serves. */
export interface ReadyLine {
  readonly ready: true;
  readonly id: string;
  readonly address: string;
}

export interface RunningProcess {
  readonly name: string;
  readonly args: readonly string[];
  /** Of the present incarnation: changes when the process was started again. */
  readonly pid: number;
  readonly ready: ReadyLine;
  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when it is gone. */
  stop(graceMs?: number): Promise<void>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Start it again when it ends without having been told to. */
  readonly keepUp?: boolean;
}

export interface ProcessGroupOptions {
  /** The built command line: `dist/cli/main.js`. */
  readonly cliPath: string;
  readonly logFolder: string;
  /** A process of the group ended by itself, or was started again. */
  readonly onEvent?: (line: string) => void;
}

/** The `--listen` value that asks for any free port of the loopback address. */
export const ANY_PORT = '127.0.0.1:0';

const READY_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 10_000;
/** A process that dies faster than this after its start is not started a fourth time: it will not get better. */
const EARLY_DEATH_MS = 5_000;
const EARLY_DEATHS_MAX = 3;

/**
 * Role processes of one cell: started through the same command line that an operator would use, stopped in reverse
 * order. Each leads a process group of its own, so that Ctrl-C in a terminal reaches only us and the order is ours; their
 * standard input is a pipe from us, and they stop when it closes, so that none outlives us even if we are killed.
 */
export class ProcessGroup {
  readonly #options: ProcessGroupOptions;
  readonly #members: Member[] = [];

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
    mkdirSync(options.logFolder, { recursive: true });
  }

  get members(): readonly RunningProcess[] {
    return this.#members;
  }

  /** @throws when it ends or stays silent before its ready line; the message ends with the last lines of its log */
  async start(name: string, args: readonly string[], options: StartOptions = {}): Promise<RunningProcess> {
    const member = new Member(name, args, options, this.#options);
    this.#members.push(member);
    await member.launch();
    return member;
  }

  /** Stops all, the last started first. */
  async stopAll(): Promise<void> {
    for (const member of this.#members.splice(0).reverse()) await member.stop();
  }
}

class Member implements RunningProcess {
  readonly name: string;
  readonly args: readonly string[];
  readonly #options: StartOptions;
  readonly #group: ProcessGroupOptions;
  #child: ChildProcess | null = null;
  #ready: ReadyLine | null = null;
  #stopping = false;
  #earlyDeaths = 0;
  #lastLines: string[] = [];

  constructor(name: string, args: readonly string[], options: StartOptions, group: ProcessGroupOptions) {
    this.name = name;
    this.args = args;
    this.#options = options;
    this.#group = group;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get ready(): ReadyLine {
    if (this.#ready === null) throw new Error(`${this.name} is not ready yet`);
    return this.#ready;
  }

  async launch(): Promise<void> {
    const child = spawn(process.execPath, [this.#group.cliPath, ...this.#argsOfLaunch()], {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#options.env, MOORAGE_STOP_WITH_PARENT: '1' },
    });
    this.#child = child;
    // Nothing is ever written there; the pipe's end is the message.
    child.stdin.on('error', () => undefined);
    const log = createWriteStream(join(this.#group.logFolder, `${this.name}.log`), { flags: 'a' });
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.write(`${line}\n`);
      this.#lastLines = [...this.#lastLines.slice(-4), line];
    });
    const startedMs = performance.now();
    child.once('exit', (code, signal) => {
      log.end();
      this.#ended(code, signal, performance.now() - startedMs);
    });
    this.#ready = await this.#waitUntilReady(child);
  }

  /** A process that is started again keeps its address: others have written it down. */
  #argsOfLaunch(): readonly string[] {
    if (this.#ready === null) return this.args;
    const { hostname, port } = new URL(this.#ready.address);
    return this.args.map((arg) => (arg === ANY_PORT ? `${hostname}:${port}` : arg));
  }

  #waitUntilReady(child: ChildProcess): Promise<ReadyLine> {
    return new Promise((resolve, reject) => {
      const fail = (why: string): void =>
        reject(new Error([`${this.name} ${why}`, ...this.#lastLines.map((line) => `  ${line}`)].join('\n')));
      const timer = setTimeout(() => {
        this.#stopping = true;
        child.kill('SIGKILL');
        fail(`did not get ready within ${String(READY_TIMEOUT_MS / 1000)} s`);
      }, READY_TIMEOUT_MS);
      child.once('error', (error) => fail(`could not be started: ${error.message}`));
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        fail(`ended before it was ready (${signal ?? `exit code ${String(code)}`})`);
      });
      if (child.stdout === null) return;
      createInterface({ input: child.stdout }).on('line', (line) => {
        const ready = parseReady(line);
        if (ready === null) return;
        clearTimeout(timer);
        resolve(ready);
      });
    });
  }

  #ended(code: number | null, signal: string | null, livedMs: number): void {
    if (this.#stopping || this.#ready === null) return;
    const how = signal ?? `exit code ${String(code)}`;
    this.#earlyDeaths = livedMs < EARLY_DEATH_MS ? this.#earlyDeaths + 1 : 0;
    if (this.#options.keepUp !== true || this.#earlyDeaths >= EARLY_DEATHS_MAX) {
      this.#group.onEvent?.(
        `${this.name} ended (${how}); its log: ${join(this.#group.logFolder, this.name)}.log`,
      );
      return;
    }
    const startedMs = performance.now();
    this.launch().then(
      () =>
        this.#group.onEvent?.(
          `${this.name} ended (${how}) and is up again after ${(performance.now() - startedMs).toFixed(0)} ms`,
        ),
      (error: unknown) => this.#group.onEvent?.(`${this.name} ended (${how}): ${String(error)}`),
    );
  }

  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await gone;
    clearTimeout(timer);
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
