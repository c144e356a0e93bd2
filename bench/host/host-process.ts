import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import type { WorkerOptions, WorkerReady, WorkerUsage } from './host-worker.ts';

/** A host-agent that can be killed and started again on the same folder. */
export interface AgentProcess extends WorkerReady {
  readonly pid: number;
  usage(): Promise<WorkerUsage>;
  /** Resolves when it is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** How the worker is run: from the build beside this file, unless a test names another. */
export interface WorkerProgram {
  /** Node's own arguments, the entry last. */
  readonly argv: readonly string[];
  /** Path of the compiled shim; empty: found in the build. */
  readonly shim: string;
  readonly more?: WorkerOptions;
  /** A command that runs the worker as its own process, in another surrounding. */
  readonly within?: readonly string[];
}

/** More than any run asks for: none waits for another to end. */
export const ROOMY: WorkerOptions = { capacity: { cpuMilli: 1_000_000, memoryMib: 1_000_000 } };

export const BUILT: WorkerProgram = {
  argv: [builtFile('bench/host/host-worker.js')],
  shim: '',
  more: ROOMY,
};

/** An agent that is under way, or serves. */
export interface Birth {
  /** Rejects with its error output when it ends before. */
  readonly serving: Promise<AgentProcess>;
  /** Resolves when it is gone. */
  kill(): Promise<void>;
}

/** @throws with its error output when it does not come up */
export function startAgentProcess(folder: string, program: WorkerProgram = BUILT): Promise<AgentProcess> {
  return beginAgentProcess(folder, program).serving;
}

export function beginAgentProcess(folder: string, program: WorkerProgram = BUILT): Birth {
  const [command = '', ...before] = [...(program.within ?? []), process.execPath];
  const args = [...before, ...program.argv, folder, program.shim, JSON.stringify(program.more ?? {})];
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let errorText = '';
  child.stderr.on('data', (chunk: Buffer) => (errorText += chunk.toString()));
  child.stdin.on('error', () => undefined);
  const gone = new Promise<void>((finish) => child.once('exit', () => finish()));
  const lines = createInterface({ input: child.stdout });
  const next = <T>(): Promise<T> =>
    Promise.race([
      new Promise<T>((done) => lines.once('line', (line) => done(JSON.parse(line) as T))),
      gone.then(() => {
        throw new Error(`the agent ended: ${errorText}`);
      }),
    ]);
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    child.kill(signal);
    await gone;
  };
  const usage = (): Promise<WorkerUsage> => {
    const answer = next<WorkerUsage>();
    child.stdin.write('usage\n');
    return answer;
  };
  const serving = next<WorkerReady>().then((ready) => ({ ...ready, pid: child.pid ?? 0, usage, end }));
  // A caller that kills it before then need not await this.
  serving.catch(() => undefined);
  return { serving, kill: () => end('SIGKILL') };
}
