import { readdir, readFile, readlink } from 'node:fs/promises';
import type { MarkedAttempt } from '../../ports/process.ts';
import { STATE_MARK } from '../../wire/host-files/shim-launch.ts';
import { parseStat } from './proc-files.ts';

/**
 * All attempts that have a process on this machine, of every host, by the marks in the environments. Processes that this one
 * may not read are left out.
 */
export async function markedAttempts(): Promise<readonly MarkedAttempt[]> {
  const found = new Map<string, MarkedAttempt>();
  for (const pid of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(pid)) continue;
    const marked = await markedBy(pid);
    if (marked === null) continue;
    const key = `${marked.stateId} ${marked.attempt}`;
    const before = found.get(key);
    found.set(key, before?.deserted === true ? before : marked);
  }
  return [...found.values()];
}

async function markedBy(pid: string): Promise<MarkedAttempt | null> {
  try {
    const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
    const valueOf = (name: string): string | undefined =>
      environment.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
    const [stateId, attempt] = [valueOf(STATE_MARK), valueOf('MOORAGE_ATTEMPT')];
    if (stateId === undefined || attempt === undefined) return null;
    const { state, parent } = parseStat(await readFile(`/proc/${pid}/stat`, 'utf8'));
    if (state === 'Z' || state === 'X') return null;
    return { stateId, attempt, deserted: await lostItsFolder(parent, attempt) };
  } catch {
    // It has ended, or belongs to another user.
    return null;
  }
}

/** A shim's working folder is its attempt's; the kernel marks the path of a deleted folder. */
async function lostItsFolder(shim: number, attempt: string): Promise<boolean> {
  const folder = await readlink(`/proc/${String(shim)}/cwd`).catch(() => '');
  return folder.endsWith(`/attempts/${attempt} (deleted)`);
}
