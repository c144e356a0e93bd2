import { readFile } from 'node:fs/promises';
import { parseStat } from './proc-files.ts';

interface Process {
  readonly pid: number;
  /** Clock ticks from boot to start. */
  readonly start: number;
}

const TRIES_MAX = 40;
const RETRY_MS = 25;

/**
 * The task proper of a sandbox: the first child of the first child of its main process. The sandbox creates it last, so when
 * it exists the sandbox is closed.
 * @returns null when it does not appear within a second
 */
export async function innerProcess(main: Process): Promise<Process | null> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const init = await firstChild(main);
    const inner = init === null ? null : await firstChild(init);
    if (inner !== null) return inner;
    await new Promise((next) => setTimeout(next, RETRY_MS));
  }
  return null;
}

/** Compares the parent's start time, in case its number belongs to another process now. */
async function firstChild(parent: Process): Promise<Process | null> {
  try {
    const path = `/proc/${String(parent.pid)}`;
    const children = await readFile(`${path}/task/${String(parent.pid)}/children`, 'utf8');
    const pid = Number(children.split(' ')[0]);
    if (pid === 0 || (await startOf(parent.pid)) !== parent.start) return null;
    return { pid, start: await startOf(pid) };
  } catch {
    // It has ended.
    return null;
  }
}

async function startOf(pid: number): Promise<number> {
  return parseStat(await readFile(`/proc/${String(pid)}/stat`, 'utf8')).start;
}
