import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { WorkerReady, WorkerUsage } from './host-worker.ts';

/** A host-agent that can be killed and started again on the same folder. */
export interface AgentProcess extends WorkerReady {
  readonly pid: number;
  usage(): Promise<WorkerUsage>;
  /** Resolves when it is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** How the worker is run: from the build beside this file, unless a test says otherwise. */
export interface WorkerProgram {
  /** Node's own arguments, the entry last. */
  readonly argv: readonly string[];
  /** Path of the compiled shim; empty: found in the build. */
  readonly shim: string;
}

const BUILT: WorkerProgram = {
  argv: [fileURLToPath(new URL('./host-worker.js', import.meta.url))],
  shim: '',
};

/** @throws with what it said when it does not come up */
export async function startAgentProcess(
  folder: string,
  program: WorkerProgram = BUILT,
): Promise<AgentProcess> {
  const child = spawn(process.execPath, [...program.argv, folder, program.shim], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stdin.on('error', () => undefined);
  const gone = new Promise<void>((finish) => child.once('exit', () => finish()));
  const lines = createInterface({ input: child.stdout });
  const next = <T>(): Promise<T> =>
    Promise.race([
      new Promise<T>((done) => lines.once('line', (line) => done(JSON.parse(line) as T))),
      gone.then(() => {
        throw new Error(`the agent ended: ${said}`);
      }),
    ]);
  const ready = await next<WorkerReady>();
  return {
    ...ready,
    pid: child.pid ?? 0,
    usage: () => {
      const usage = next<WorkerUsage>();
      child.stdin.write('usage\n');
      return usage;
    },
    end: async (signal) => {
      child.kill(signal);
      await gone;
    },
  };
}
