/**
 * The state folder: all that an agent must still know after a crash. It is opened first: this file takes the lock, reads
 * the host's identity and counts the incarnation. Then `journal.ts` reads the lines of used tickets, fenced ids, newest
 * epoch and latest time. `state-disk.ts` is the disk below both; it keeps a reserve for records on a full disk.
 * `records.ts` reads one record, and puts a damaged one into quarantine.
 */
import { makeId } from '../../src/core/cell/ids.ts';
import type { ProcessIdentity } from '../../src/ports/process.ts';
import { identityFile, incarnationFile, lockFile } from '../../src/wire/host-files/host-files.ts';
import type { AgentPorts } from '../ports.ts';
import { readRecord } from './records.ts';

/** This state folder cannot be used by this agent; the message says what to do. */
export class StateFolderError extends Error {
  override readonly name = 'StateFolderError';
}

export interface StateFolder {
  /** Who this folder is, for ever. */
  readonly stateId: string;
  /** Of this start of the agent: larger than that of any earlier one. */
  readonly incarnation: number;
  /** Lets another agent of this same process have the folder; a process that ends has let go anyway. */
  readonly release: () => Promise<void>;
}

const LOCKS = 'locks';

/**
 * Takes the folder for this process and begins a new incarnation.
 * @throws StateFolderError when another agent runs on it (S2.19), or it belongs to another host
 */
export async function openStateFolder(ports: AgentPorts, host: string): Promise<StateFolder> {
  const lock = await takeLock(ports);
  const release = async (): Promise<void> => {
    await ports.disk.publish(lockPath(lock + 1), lockFile.encode(NOBODY), { durable: false });
  };
  try {
    return { stateId: await readIdentity(ports, host), incarnation: await nextIncarnation(ports), release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Of no boot of any machine. */
const NOBODY: ProcessIdentity = { boot: 'none', pid: 1, start: 0 };

/**
 * Locks are numbered and made once each: the one with the highest number holds the folder while the process that it names
 * runs. Who finds that process gone makes the next number; of two that do so one succeeds. Who was so slow that a
 * still higher one came meanwhile finds it afterwards, and steps back.
 */
async function takeLock(ports: AgentPorts): Promise<number> {
  const highest = await highestLock(ports);
  if (highest > 0 && (await isHeld(ports, highest))) throw inUse(ports);
  const mine = highest + 1;
  const record = lockFile.encode({ ...ports.processes.self });
  if ((await ports.disk.publish(lockPath(mine), record)) === 'exists') throw inUse(ports);
  if ((await highestLock(ports)) > mine) throw inUse(ports);
  for (const name of await ports.disk.list(LOCKS))
    if (Number(name) < mine) await ports.disk.remove(`${LOCKS}/${name}`);
  return mine;
}

async function highestLock(ports: AgentPorts): Promise<number> {
  const names = await ports.disk.list(LOCKS);
  return Math.max(0, ...names.map(Number).filter(Number.isInteger));
}

async function isHeld(ports: AgentPorts, number: number): Promise<boolean> {
  const found = await readRecord(ports, lockPath(number), lockFile, { leave: true });
  // An unreadable lock names no process that could still live.
  if (found.kind !== 'found') return false;
  const holder: ProcessIdentity = found.value;
  return ports.processes.isAlive(holder);
}

function lockPath(number: number): string {
  return `${LOCKS}/${String(number)}`;
}

function inUse(ports: AgentPorts): StateFolderError {
  const folder = ports.disk.absolute('');
  return new StateFolderError(
    `another agent runs on the state folder ${folder}: stop it, or name another folder`,
  );
}

async function readIdentity(ports: AgentPorts, host: string): Promise<string> {
  const found = await readRecord(ports, 'identity', identityFile);
  if (found.kind === 'found') {
    if (found.value.host !== host)
      throw new StateFolderError(
        `the state folder ${ports.disk.absolute('')} belongs to host ${found.value.host}, not to ${host}`,
      );
    return found.value.stateId;
  }
  const stateId = makeId(ports.clock.nowMs(), ports.random.bytes(16));
  await ports.disk.publish('identity', identityFile.encode({ stateId, host }));
  return stateId;
}

async function nextIncarnation(ports: AgentPorts): Promise<number> {
  const found = await readRecord(ports, 'incarnation', incarnationFile);
  const last = found.kind === 'found' ? found.value.incarnation : 0;
  const incarnation = Math.max(last + 1, Math.round(ports.clock.nowMs()));
  await saveIncarnation(ports, incarnation);
  return incarnation;
}

export async function saveIncarnation(ports: AgentPorts, incarnation: number): Promise<void> {
  await ports.disk.replace('incarnation', incarnationFile.encode({ incarnation }));
}
