import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ProcessError } from '../../ports/process.ts';

/**
 * The resident process that forks shims: Node's own spawn blocks for milliseconds, in proportion to its heap. It holds
 * nothing, so it may die at any time and is started again with the next attempt.
 */
export class Spawner {
  readonly #shimPath: string;
  readonly #args: readonly string[];
  readonly #onFailed: (attempt: string) => void;
  #child: ChildProcess | null = null;

  /**
   * @param args the state folder, then the groups that the spawner and its shims join
   * @param onFailed the system would not fork for this attempt
   */
  constructor(shimPath: string, args: readonly string[], onFailed: (attempt: string) => void) {
    this.#shimPath = shimPath;
    this.#args = args;
    this.#onFailed = onFailed;
  }

  ask(attempt: string): Promise<void> {
    const child = this.#child ?? this.#begin();
    return new Promise((resolve, reject) => {
      child.stdin?.write(`${attempt}\n`, (error) => {
        if (error == null) resolve();
        else reject(new ProcessError('the spawner does not take orders', { cause: error }));
      });
    });
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

  #begin(): ChildProcess {
    // A session of its own: Ctrl-C in a terminal is for the agent.
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
