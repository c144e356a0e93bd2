import { spawn } from 'node:child_process';
import { mkdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from '../../ports/process.ts';
import { ProcessError } from '../../ports/process.ts';
import { HELLO_FRAME, KILL_FRAME, signalFrame, tellShim } from './ctl.ts';
import { findMarked, identityOfSelf, isRunning, listeningPorts, readBootId } from './proc-files.ts';
import { Spawner } from './spawner.ts';

/** `native`: path of the compiled shim. `command`: a program that takes `--run STATE ATTEMPT` behind its own arguments. */
export type ShimProgram =
  | { readonly kind: 'native'; readonly path: string }
  | { readonly kind: 'command'; readonly argv: readonly string[] };

export interface LinuxProcessesOptions {
  readonly stateFolder: string;
  readonly shim: ShimProgram;
}

/** Processes of a Linux machine; see `host-agent/native/shim.c` for the other half. */
export function linuxProcesses(options: LinuxProcessesOptions): Processes {
  const { stateFolder, shim } = options;
  const listeners = new Set<(attempt: string) => void>();
  const tell = (attempt: string): void => {
    for (const listener of listeners) listener(attempt);
  };
  const folderOf = (attempt: string): string => join(stateFolder, 'attempts', attempt);
  mkdirSync(join(stateFolder, 'attempts'), { recursive: true, mode: 0o700 });
  const events = join(stateFolder, 'events');
  mkdirSync(events, { recursive: true, mode: 0o700 });
  const watcher = watch(events, (_kind, name) => {
    if (name !== null) tell(name);
  });
  watcher.on('error', () => watcher.close());
  const spawner = shim.kind === 'native' ? new Spawner(shim.path, stateFolder, tell) : null;
  const bootId = readBootId();

  return {
    bootId,
    self: identityOfSelf(bootId),
    isAlive: async (identity) => identity.boot === bootId && (await isRunning(identity)),
    startShim: (attempt) => (spawner === null ? spawnShim(shim, stateFolder, attempt) : spawner.ask(attempt)),
    signal: (attempt, signal, sequence) => tellShim(folderOf(attempt), signalFrame(sequence, signal)),
    answers: (attempt) => tellShim(folderOf(attempt), HELLO_FRAME),
    killTree: (attempt) => tellShim(folderOf(attempt), KILL_FRAME),
    async killLeftovers(attempt) {
      const marked = await findMarked(attempt);
      for (const pid of marked) killNow(pid);
      return marked.length;
    },
    async portsInUse(ports) {
      if (ports.length === 0) return [];
      const taken = await listeningPorts();
      return ports.filter((port) => taken.has(port));
    },
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      watcher.close();
      listeners.clear();
      await spawner?.close();
    },
  };
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

function spawnShim(shim: ShimProgram, stateFolder: string, attempt: string): Promise<void> {
  const [program, ...args] = shim.kind === 'native' ? [shim.path] : shim.argv;
  if (program === undefined) throw new Error('a shim program needs a command');
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args, '--run', stateFolder, attempt], {
      detached: true,
      stdio: 'ignore',
    });
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
    child.once('error', (cause) => reject(new ProcessError(`cannot start ${program}`, { cause })));
  });
}
