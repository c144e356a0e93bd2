import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ATTEMPT_FILES, parseExecName } from '../../wire/host-files/attempt-files.ts';
import type { KillMethod } from '../../wire/host-files/shim-launch.ts';
import { decodeLaunch } from '../../wire/host-files/launch-codec.ts';
import { STATE_MARK } from '../../wire/host-files/shim-launch.ts';
import { findMarked } from './proc-files.ts';

/**
 * Kills what an attempt left whose shim died: by its groups first, which lose nobody, then by the marks in the environment.
 * @returns how many processes there were
 */
export async function killAllOf(attempts: string, name: string): Promise<number> {
  const { kill, stateId } = await launchIn(join(attempts, name));
  return killByMethods(kill, name, stateId);
}

/** As `killAllOf`, with the ways to kill that the launch names. @param stateId null: of a launch that does not say whose */
export async function killByMethods(
  methods: readonly KillMethod[],
  name: string,
  stateId: string | null,
): Promise<number> {
  const found = new Set<number>();
  for (const method of methods) for (const pid of await killGroup(method)) found.add(pid);
  const exec = parseExecName(name);
  const marks = [`MOORAGE_ATTEMPT=${exec?.attempt ?? name}`];
  if (stateId !== null) marks.push(`${STATE_MARK}=${stateId}`);
  if (exec !== null) {
    const own = methods.flatMap((method) => (method.kind === 'environ' ? [method.mark] : []));
    // Without a mark of its own it could not be told from the task that it is in.
    if (own.length === 0) return found.size;
    marks.push(...own);
  }
  for (const pid of await findMarked(marks)) {
    found.add(pid);
    killNow(pid);
  }
  return found.size;
}

async function launchIn(folder: string): Promise<{ kill: readonly KillMethod[]; stateId: string | null }> {
  try {
    const launch = decodeLaunch(await readFile(join(folder, ATTEMPT_FILES.launch), 'utf8'));
    return { kill: launch.kill ?? [], stateId: launch.env[STATE_MARK] ?? null };
  } catch {
    // No launch, no groups: the marks remain.
    return { kill: [], stateId: null };
  }
}

/** @returns the processes that were in the group */
async function killGroup(method: KillMethod): Promise<readonly number[]> {
  if (method.kind === 'environ') return [];
  const folder = method.kind === 'cgroup' ? dirname(method.path) : method.path;
  const before = await processesIn(folder);
  if (before.length === 0) return before;
  if (method.kind === 'cgroup') {
    await tell(method.path, '1');
    return before;
  }
  const state = join(folder, 'freezer.state');
  await tell(state, 'FROZEN');
  for (const pid of await processesIn(folder)) killNow(pid);
  await tell(state, 'THAWED');
  return before;
}

async function processesIn(folder: string): Promise<readonly number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).map(Number);
}

/** A group that is gone holds nobody. */
async function tell(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch(() => undefined);
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
