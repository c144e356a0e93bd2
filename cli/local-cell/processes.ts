import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Restarts } from './restarts.ts';
import type { ReadyLine, RoleEnd } from './role-process.ts';
import { RoleProcess } from './role-process.ts';

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Start it again whenever it ends without an order to stop. */
  readonly keepUp?: boolean;
}

export interface ProcessGroupOptions {
  /** The built command line: `dist/cli/main.js`. */
  readonly cliPath: string;
  readonly logFolder: string;
  /** A process of the group ended by itself, or was started again. */
  readonly onEvent?: (text: string) => void;
}

/** The `--listen` value that asks for any free port of the loopback address. */
export const ANY_PORT = '127.0.0.1:0';

const STOP_GRACE_MS = 10_000;

/**
 * Role processes of one cell: started through the same command line that an operator would use, stopped in reverse order,
 * and in between restarted as an operator's supervisor would, however often they end.
 */
export class ProcessGroup {
  readonly #options: ProcessGroupOptions;
  readonly #members: RunningProcess[] = [];

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
    mkdirSync(options.logFolder, { recursive: true });
  }

  get members(): readonly RunningProcess[] {
    return this.#members;
  }

  /** @throws when its first process ends or stays silent before its ready line; the message ends with the last lines of its log */
  async start(name: string, args: readonly string[], options: StartOptions = {}): Promise<RunningProcess> {
    const member = new RunningProcess(name, args, options, this.#options);
    this.#members.push(member);
    await member.start();
    return member;
  }

  /** Stops all, the last started first. */
  async stopAll(): Promise<void> {
    for (const member of this.#members.splice(0).reverse()) await member.stop();
  }
}

export class RunningProcess {
  readonly name: string;
  readonly args: readonly string[];
  readonly #options: StartOptions;
  readonly #group: ProcessGroupOptions;
  readonly #logFile: string;
  readonly #restarts = new Restarts();
  #process: RoleProcess | null = null;
  #ready: ReadyLine | null = null;
  #stopping = false;
  #cancelWait: () => void = () => undefined;

  constructor(name: string, args: readonly string[], options: StartOptions, group: ProcessGroupOptions) {
    this.name = name;
    this.args = args;
    this.#options = options;
    this.#group = group;
    this.#logFile = join(group.logFolder, `${name}.log`);
  }

  /** Of the present incarnation: changes when the process was started again. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get ready(): ReadyLine {
    if (this.#ready === null) throw new Error(`${this.name} is not ready yet`);
    return this.#ready;
  }

  async start(): Promise<void> {
    const first = this.#launch();
    this.#ready = await first.ready;
    void this.#watchOver(first);
  }

  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when it is gone, and will not be started again. */
  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.#stopping = true;
    this.#cancelWait();
    await this.#process?.stop(graceMs);
  }

  #launch(): RoleProcess {
    this.#process = new RoleProcess({
      name: this.name,
      args: [this.#group.cliPath, ...this.#argsOfLaunch()],
      env: this.#options.env ?? {},
      logFile: this.#logFile,
    });
    return this.#process;
  }

  /** A restarted process keeps its address: other processes have recorded it. */
  #argsOfLaunch(): readonly string[] {
    if (this.#ready === null) return this.args;
    const { hostname, port } = new URL(this.#ready.address);
    return this.args.map((arg) => (arg === ANY_PORT ? `${hostname}:${port}` : arg));
  }

  async #watchOver(first: RoleProcess): Promise<void> {
    for (let process = first; ;) {
      const end = await process.ended;
      if (this.#isStopping()) return;
      if (this.#options.keepUp !== true) return this.#print(`ended (${end.how}); its log: ${this.#logFile}`);
      await this.#delayRestart(process, end);
      if (this.#isStopping()) return;
      process = this.#launch();
      await this.#tellWhenUp(process, end);
    }
  }

  /** A process that never lives long waits before its next start; the end of its log is printed meanwhile. */
  async #delayRestart({ lastLines }: RoleProcess, { how, livedMs }: RoleEnd): Promise<void> {
    const waitMs = this.#restarts.ended(livedMs);
    if (waitMs === 0) return;
    const head = `ended (${how}), ${String(this.#restarts.early)} times in a row soon after its start`;
    const next = `it is started again in ${String(waitMs / 1000)} s; its log, ${this.#logFile}, ends with:`;
    this.#print([`${head}; ${next}`, ...lastLines.map((line) => `  ${line}`)].join('\n'));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#cancelWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #tellWhenUp(process: RoleProcess, { how }: RoleEnd): Promise<void> {
    const startedMs = performance.now();
    try {
      await process.ready;
      this.#print(`ended (${how}) and is up again after ${(performance.now() - startedMs).toFixed(0)} ms`);
    } catch {
      // It has ended, or is about to: every end is printed.
    }
  }

  #isStopping(): boolean {
    return this.#stopping;
  }

  #print(text: string): void {
    this.#group.onEvent?.(`${this.name} ${text}`);
  }
}
