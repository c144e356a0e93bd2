/**
 * The processes of a Linux machine, as the host-agent needs them; `host-agent/shim` is the other half.
 *
 * - Start: `spawner.ts` is the resident process that forks shims; `exec-folder.ts` prepares a command inside a task, whose
 *   namespaces `inner-process.ts` finds.
 * - Talk to a shim: `shim-link.ts` speaks its protocol over the socket of `shim-socket.ts`; `signals.ts` numbers signals.
 * - Find and kill: `marked.ts` finds attempts by the marks in environments, `leftovers.ts` kills what a dead shim left,
 *   `proc-files.ts` reads /proc, `sockets.ts` the ports and addresses in use.
 * - The machine: `cgroups.ts` (control groups), `machine.ts` (capacity), `commands.ts` (short programs; `clean-commands.ts`: those of operators).
 */
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

/** `native`: path of the compiled shim. `command`: a program that takes `--run STATE ATTEMPT` after its own arguments. */
export type ShimProgram =
  | { readonly kind: 'native'; readonly path: string }
  | { readonly kind: 'command'; readonly argv: readonly string[] };

export interface LinuxProcessesOptions {
  readonly stateFolder: string;
  readonly shim: ShimProgram;
  /** Files `cgroup.procs` of the groups in which shims live: not the agent's, which may be killed as a whole. */
  readonly shimGroups?: readonly string[];
}

export function linuxProcesses(options: LinuxProcessesOptions): Processes {
  const { stateFolder, shim } = options;
  const listeners = new Set<(attempt: string) => void>();
  const report = (attempt: string): void => {
    for (const listener of listeners) listener(attempt);
  };
  const attempts = join(stateFolder, 'attempts');
  /** Opens a link for one call. @returns false without a shim, or without its answer */
  const ask = async (attempt: string, call: (link: ShimLink) => Promise<unknown>): Promise<boolean> => {
    const link = await openLink(join(attempts, attempt));
    const answer = link === null ? null : await call(link);
    link?.close();
    return answer !== null;
  };
  mkdirSync(attempts, { recursive: true, mode: 0o700 });
  const events = join(stateFolder, 'events');
  mkdirSync(events, { recursive: true, mode: 0o700 });
  writeFileSync(join(events, NOTIFY_FILE), '');
  const watcher = watchEvents(events, report);
  const spawner =
    shim.kind === 'native'
      ? new Spawner(shim.path, [stateFolder, ...(options.shimGroups ?? [])], report)
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

/** Shims give this file the name of their attempt for a moment: the watch of the folder reports it. */
const NOTIFY_FILE = '.bell';

/** File names have no slash: a command inside an attempt is `<attempt>~<id>`. */
const EXEC_EVENT = '~';

/** A name that comes and goes is two changes of the folder: each name is reported once a turn. */
function watchEvents(folder: string, report: (attempt: string) => void): FSWatcher {
  const changed = new Set<string>();
  const reportAll = (): void => {
    const names = [...changed];
    changed.clear();
    for (const name of names) report(name.replace(EXEC_EVENT, '/exec/'));
  };
  const watcher = watch(folder, (_kind, name) => {
    if (name === null || name === NOTIFY_FILE) return;
    if (changed.size === 0) setImmediate(reportAll);
    changed.add(name);
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
