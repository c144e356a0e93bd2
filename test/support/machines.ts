import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Machines with a network between them, as far as processes can tell: network namespaces of this machine, with the addresses
 * 10.0.0.1, 10.0.0.2, ... which nobody outside sees.
 */
export class Machines {
  readonly #names: readonly string[];
  readonly #processes: ChildProcess[] = [];

  constructor(count: number) {
    this.#names = Array.from({ length: count }, (_, n) => `moorage-${String(process.pid)}-${String(n)}`);
    for (const name of this.#names) {
      ip('netns', 'add', name);
      ip('-n', name, 'link', 'set', 'lo', 'up');
    }
    const [first = '', ...others] = this.#names;
    ip('-n', first, 'link', 'add', 'between', 'type', 'bridge');
    ip('-n', first, 'addr', 'add', '10.0.0.1/24', 'dev', 'between');
    ip('-n', first, 'link', 'set', 'between', 'up');
    for (const [n, name] of others.entries()) {
      const end = `to-${String(n + 2)}`;
      ip('-n', first, 'link', 'add', end, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('-n', first, 'link', 'set', end, 'master', 'between', 'up');
      ip('-n', name, 'addr', 'add', `10.0.0.${String(n + 2)}/24`, 'dev', 'eth0');
      ip('-n', name, 'link', 'set', 'eth0', 'up');
    }
  }

  /** A process on machine `n`, counted from 0. */
  spawn(
    n: number,
    command: readonly string[],
    options: { cwd: string; env?: NodeJS.ProcessEnv },
  ): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.#names[n] ?? '', ...command], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
    });
    this.#processes.push(child);
    return child;
  }

  /** Its power fails: whatever runs there is gone at once. */
  kill(n: number): void {
    const pids = execFileSync('ip', ['netns', 'pids', this.#names[n] ?? ''], { encoding: 'utf8' });
    for (const pid of pids.split('\n').filter((text) => text !== ''))
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It ended by itself meanwhile.
      }
  }

  /** Ends all processes, the last first, and takes the machines away. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#processes.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const end = once(child, 'close');
      child.kill('SIGTERM');
      await end;
    }
    for (const [n, name] of this.#names.entries()) {
      this.kill(n);
      ip('netns', 'del', name);
    }
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args);
}
