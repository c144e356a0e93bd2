import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf } from '../adapters.ts';
import type { ExecOrder } from '../../core/host/shim.ts';
import { ProcessError } from '../../ports/process.ts';
import { ATTEMPT_FILES, execName, parseExecName, startedFile } from '../../wire/host-files/attempt-files.ts';
import { innerProcess } from './inner-process.ts';
import { execLaunch } from '../../wire/host-files/exec-launch.ts';
import { decodeLaunch, encodeLaunch } from '../../wire/host-files/launch-codec.ts';

/**
 * Prepares the folder of a command inside a task. The launch is linked into place: a second call with the same id finds the
 * first one's.
 * @returns the command's name; null when the task does not run
 * @throws ProcessError when the task's sandbox is not there yet
 */
export async function prepareExec(
  attempts: string,
  attempt: string,
  commandId: string,
  order: ExecOrder,
): Promise<string | null> {
  const name = execName(attempt, commandId);
  if (parseExecName(name) === null) throw new Error(`${commandId} cannot be the id of a command`);
  const folder = join(attempts, name);
  const path = join(folder, ATTEMPT_FILES.launch);
  if (await exists(path)) return name;
  const task = join(attempts, attempt);
  const started = await readFile(join(task, ATTEMPT_FILES.started), 'utf8').catch(() => null);
  if (started === null || (await exists(join(task, ATTEMPT_FILES.exit)))) return null;
  const launch = decodeLaunch(await readFile(join(task, ATTEMPT_FILES.launch), 'utf8'));
  const main = startedFile.decode(started);
  const inside = launch.inner === true ? await innerProcess(main) : main;
  if (inside === null) throw new ProcessError('the sandbox of the task is not closed yet');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const text = encodeLaunch(execLaunch(launch, inside, commandId, order));
  await linkNew(path, text);
  return name;
}

let temporaries = 0;

async function linkNew(path: string, text: string): Promise<void> {
  const temporary = `${path}.${String(process.pid)}.${String(temporaries++)}`;
  await writeFile(temporary, text, { mode: 0o600 });
  try {
    await link(temporary, path);
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
