import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ATTEMPT_FILES, parseExecName } from '../../wire/host-files/attempt-files.ts';
import type { KillMethod } from '../../wire/host-files/shim-launch.ts';
import { decodeLaunch } from '../../wire/host-files/launch-codec.ts';
import { STATE_MARK } from '../../wire/host-files/shim-launch.ts';
import { findMarked, killNow, processesIn } from './proc-files.ts';

/**
 * Kills what a dead shim's attempt left: by its control groups first, which miss no process, then by the marks in the
 * environment.
 * @returns how many processes there were
 */
export async function killAllOf(attempts: string, name: string): Promise<number> {
  const { kill, stateId } = await launchIn(join(attempts, name));
  return killByMethods(kill, name, stateId);
}

/** As `killAllOf`, by the given methods. @param stateId null: unknown, any state folder's */
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
    // Without a mark of its own it cannot be distinguished from the task that it runs in.
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
    // Without a launch there are no groups, only marks.
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
    await write(method.path, '1');
    return before;
  }
  const state = join(folder, 'freezer.state');
  await write(state, 'FROZEN');
  for (const pid of await processesIn(folder)) killNow(pid);
  await write(state, 'THAWED');
  return before;
}

/** Ignores errors: a group that is gone holds no process. */
async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch(() => undefined);
}
