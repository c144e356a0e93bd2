import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface LivesOptions {
  /** Where the agents' state lies. */
  readonly stateFolder: string;
  /** For what belongs to the run and not to the host. */
  readonly folder: string;
  /** Node's arguments, the worker first, `bench/host/host-worker.ts`. */
  readonly argv: readonly string[];
  /** More lives than that are a loop. */
  readonly livesMax: number;
}

/** What an agent is to die of, or to suffer. */
export interface Armament {
  /** As `MOORAGE_FAILPOINT` takes them; each is followed once by all lives together. */
  readonly orders: readonly string[];
  /** Reaches count from the start of the process, or only once it serves. */
  readonly from: 'start' | 'serving';
}

interface Life {
  readonly address: string;
  readonly pid: number;
}

/** A host-agent that is started again whenever it ends. */
export class Lives {
  readonly #options: LivesOptions;
  #armament: Armament = { orders: [], from: 'start' };
  #child: ChildProcess | null = null;
  #life: Life | null = null;
  #waiting: ((life: Life) => void)[] = [];
  #stopping = false;
  /** Ends it for those who wait for a life that will not come. */
  #failed: (error: Error) => void = () => undefined;
  readonly failed = new Promise<never>((_, fail) => (this.#failed = fail));
  count = 0;
  /** Ends that no kill of ours explains, with what the agent said. A fault at its start is one. */
  readonly faults: string[] = [];

  constructor(options: LivesOptions) {
    this.#options = options;
    this.failed.catch(() => undefined);
  }

  start(): Promise<Life> {
    this.#next();
    return this.life();
  }

  /** Resolves when an agent serves. */
  life(): Promise<Life> {
    if (this.#life !== null) return Promise.resolve(this.#life);
    return Promise.race([new Promise<Life>((resolve) => this.#waiting.push(resolve)), this.failed]);
  }

  /** From the next life on. */
  arm(armament: Armament): void {
    this.#armament = armament;
  }

  /** Kills the present one and starts no other. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  /** @param signal sent to it; a life that is killed while it stops is followed by one that must stop as well */
  async stop(): Promise<void> {
    for (;;) {
      await this.life();
      const child = this.#child;
      if (child === null) continue;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      this.#stopping = true;
      child.kill('SIGTERM');
      await gone;
      if (child.exitCode === 0) return;
      this.#stopping = false;
      this.#next();
    }
  }

  resume(): Promise<Life> {
    this.#stopping = false;
    return this.start();
  }

  #next(): void {
    this.count += 1;
    const { argv, livesMax, folder } = this.#options;
    if (this.count > livesMax) {
      this.#failed(
        new Error(`the agent ended ${String(livesMax)} times; at last: ${this.faults.join('\n')}`),
      );
      return;
    }
    const serving = join(folder, `serving-${String(this.count)}`);
    const { orders, from } = this.#armament;
    const child = spawn(process.execPath, argv, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        MOORAGE_FAILPOINT: orders.join(','),
        MOORAGE_FAILPOINT_ONCE: join(folder, 'fired'),
        ...(from === 'serving' ? { MOORAGE_FAILPOINT_FROM: serving } : {}),
      },
    });
    this.#child = child;
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).once('line', (line) => {
      if (from === 'serving') writeFileSync(serving, '');
      this.#serves({ ...(JSON.parse(line) as Life), pid: child.pid ?? 0 });
    });
    child.once('exit', (code, signal) => {
      this.#life = null;
      if (signal !== 'SIGKILL' && code !== 0) this.faults.push(`${String(signal ?? code)}: ${said}`);
      if (!this.#stopping) this.#next();
    });
  }

  #serves(life: Life): void {
    this.#life = life;
    for (const resolve of this.#waiting.splice(0)) resolve(life);
  }
}
