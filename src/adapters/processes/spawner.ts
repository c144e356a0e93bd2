import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ProcessError } from '../../ports/process.ts';

interface Order {
  readonly attempt: string;
  readonly resolve: () => void;
  readonly reject: (error: ProcessError) => void;
}

/**
 * The resident process that forks shims: Node's own spawn blocks for milliseconds, in proportion to its heap. It has no
 * state, so it may die at any time; the next attempt starts it again.
 */
export class Spawner {
  readonly #shimPath: string;
  readonly #args: readonly string[];
  readonly #onFailed: (attempt: string) => void;
  #child: ChildProcess | null = null;
  #orders: Order[] = [];

  /**
   * @param args the state folder, then the groups that the spawner and its shims join
   * @param onFailed the system refused to fork for this attempt
   */
  constructor(shimPath: string, args: readonly string[], onFailed: (attempt: string) => void) {
    this.#shimPath = shimPath;
    this.#args = args;
    this.#onFailed = onFailed;
  }

  /** Orders of one turn of the event loop go in one write, which wakes the spawner up once. */
  ask(attempt: string): Promise<void> {
    if (this.#orders.length === 0) setImmediate(() => this.#send());
    return new Promise((resolve, reject) => this.#orders.push({ attempt, resolve, reject }));
  }

  async close(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null) return;
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.stdin?.end();
    });
  }

  #send(): void {
    const orders = this.#orders;
    this.#orders = [];
    const child = this.#child ?? this.#start();
    child.stdin?.write(orders.map(({ attempt }) => `${attempt}\n`).join(''), (cause) => {
      const refused = new ProcessError('the spawner does not take orders', { cause });
      for (const { resolve, reject } of orders)
        if (cause == null) resolve();
        else reject(refused);
    });
  }

  #start(): ChildProcess {
    // A session of its own: Ctrl-C in a terminal goes to the agent.
    const child = spawn(this.#shimPath, ['--spawner', ...this.#args], {
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {},
    });
    const gone = (): void => {
      if (this.#child === child) this.#child = null;
    };
    child.once('exit', gone);
    child.once('error', gone);
    child.stdin.on('error', gone);
    createInterface({ input: child.stdout }).on('line', (line) => this.#onFailed(line.split(' ')[0] ?? ''));
    this.#child = child;
    return child;
  }
}
