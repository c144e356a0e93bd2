import { spawn } from 'node:child_process';
import type { FSWatcher } from 'node:fs';
import { mkdirSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes, ShimLink } from '../../ports/process.ts';
import { ProcessError } from '../../ports/process.ts';
import { prepareExec } from './exec-folder.ts';
import { killAllOf, killByMethods } from './leftovers.ts';
import { markedAttempts } from './marked.ts';
import { identityOfSelf, isRunning, readBootId } from './proc-files.ts';
import { openLink } from './shim-link.ts';
import { boundAddresses, listeningPorts } from './sockets.ts';
import { Spawner } from './spawner.ts';

/** `native`: path of the compiled shim. `command`: a program that takes `--run STATE ATTEMPT` behind its own arguments. */
export type ShimProgram =
  | { readonly kind: 'native'; readonly path: string }
  | { readonly kind: 'command'; readonly argv: readonly string[] };

export interface LinuxProcessesOptions {
  readonly stateFolder: string;
  readonly shim: ShimProgram;
  /** Files `cgroup.procs` of the groups in which shims live: not the agent's, which may be killed as a whole. */
  readonly shimGroups?: readonly string[];
}

/** Processes of a Linux machine; see `host-agent/native` for the other half. */
export function linuxProcesses(options: LinuxProcessesOptions): Processes {
  const { stateFolder, shim } = options;
  const listeners = new Set<(attempt: string) => void>();
  const tell = (attempt: string): void => {
    for (const listener of listeners) listener(attempt);
  };
  const attempts = join(stateFolder, 'attempts');
  /** A link for one question. */
  const ask = async (attempt: string, question: (link: ShimLink) => Promise<unknown>): Promise<boolean> => {
    const link = await openLink(join(attempts, attempt));
    const answer = link === null ? null : await question(link);
    link?.close();
    return answer !== null;
  };
  mkdirSync(attempts, { recursive: true, mode: 0o700 });
  const events = join(stateFolder, 'events');
  mkdirSync(events, { recursive: true, mode: 0o700 });
  writeFileSync(join(events, BELL), '');
  const watcher = watchEvents(events, tell);
  const spawner =
    shim.kind === 'native'
      ? new Spawner(shim.path, [stateFolder, ...(options.shimGroups ?? [])], tell)
      : null;
  const bootId = readBootId();
  const startShim = (attempt: string): Promise<void> =>
    spawner === null ? spawnShim(shim, stateFolder, attempt) : spawner.ask(attempt);

  return {
    bootId,
    self: identityOfSelf(bootId),
    isAlive: async (identity) => identity.boot === bootId && (await isRunning(identity)),
    startShim,
    async exec(attempt, commandId, order) {
      const name = await prepareExec(attempts, attempt, commandId, order);
      if (name !== null) await startShim(name);
      return name;
    },
    open: (attempt) => openLink(join(attempts, attempt)),
    signal: (attempt, signal, sequence) => ask(attempt, (link) => link.signal(signal, sequence)),
    answers: (attempt) => ask(attempt, () => Promise.resolve(true)),
    killTree: (attempt) => ask(attempt, (link) => link.killTree()),
    killLeftovers: (attempt) => killAllOf(attempts, attempt),
    marked: markedAttempts,
    killMarked: (stateId, attempt) => killByMethods([], attempt, stateId),
    async portsInUse(ports) {
      if (ports.length === 0) return [];
      const taken = await listeningPorts();
      return ports.filter((port) => taken.has(port));
    },
    async addressesInUse(addresses) {
      if (addresses.length === 0) return [];
      const taken = await boundAddresses();
      return addresses.filter((address) => taken.has(address));
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

/** The file to which shims give the names that come and go. */
const BELL = '.bell';

/** File names have no slash: a command inside an attempt tells as `<attempt>~<id>`. */
const EXEC_EVENT = '~';

/** A name that comes and goes is two changes of the folder, and one piece of news: told once for each turn. */
function watchEvents(folder: string, tell: (attempt: string) => void): FSWatcher {
  const news = new Set<string>();
  const tellAll = (): void => {
    const names = [...news];
    news.clear();
    for (const name of names) tell(name.replace(EXEC_EVENT, '/exec/'));
  };
  const watcher = watch(folder, (_kind, name) => {
    if (name === null || name === BELL) return;
    if (news.size === 0) setImmediate(tellAll);
    news.add(name);
  });
  watcher.on('error', () => watcher.close());
  return watcher;
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
