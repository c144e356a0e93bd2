import type { Disk } from '../../src/ports/disk.ts';
import type { ProcessIdentity } from '../../src/ports/process.ts';
import type { AttemptSpec, ExitRecord, ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import {
  ATTEMPT_FILES,
  attemptFile,
  attemptName,
  claimFile,
  encodeLaunch,
  exitFile,
  segmentOffset,
  startedFile,
  stoppingFile,
} from '../../src/wire/host-files/attempt-files.ts';
import type { AgentPorts } from '../ports.ts';
import { readRecord } from '../state/records.ts';

/**
 * What the files of an attempt say.
 *
 *   asked → claimed → running → ended
 *
 * `shim` is null when the claim cannot be read: somebody has the attempt, and nobody can say who.
 */
export type AttemptState =
  | { readonly kind: 'asked' }
  | { readonly kind: 'claimed'; readonly shim: ProcessIdentity | null }
  | {
      readonly kind: 'running';
      readonly shim: ProcessIdentity | null;
      readonly pid: number | null;
      readonly startedAtMs: number | null;
    }
  | { readonly kind: 'ended'; readonly exit: ExitRecord; readonly startedAtMs: number | null };

export function attemptFolder(name: string): string {
  return `attempts/${name}`;
}

/**
 * Writes the order and asks for a shim. Nothing of it is synced: what it is about dies with the machine's power.
 * @throws DiskError, ProcessError
 */
export async function beginAttempt(ports: AgentPorts, spec: AttemptSpec, launch: ShimLaunch): Promise<void> {
  const name = attemptName(spec.allocation, spec.task, spec.number);
  const folder = attemptFolder(name);
  await ports.disk.makeFolder(folder);
  await ports.disk.publish(`${folder}/${ATTEMPT_FILES.spec}`, attemptFile.encode(spec), { durable: false });
  await ports.disk.publish(`${folder}/${ATTEMPT_FILES.launch}`, encodeLaunch(launch), { durable: false });
  await ports.processes.startShim(name);
}

/** Ends an attempt that cannot be started: no shim was asked for, and the fence keeps all of them away. */
export async function refuseAttempt(ports: AgentPorts, spec: AttemptSpec, why: string): Promise<void> {
  const name = attemptName(spec.allocation, spec.task, spec.number);
  const folder = attemptFolder(name);
  await ports.disk.makeFolder(folder);
  await ports.disk.publish(`${folder}/${ATTEMPT_FILES.spec}`, attemptFile.encode(spec), { durable: false });
  await ports.disk.publish(`${folder}/${ATTEMPT_FILES.claim}`, claimFile.encode({ fenced: true }));
  const exit: ExitRecord = {
    execErrno: EIO,
    execStep: why,
    out: spec.outBase,
    err: spec.errBase,
    atMs: Math.round(ports.clock.nowMs()),
    by: 'agent',
  };
  await ports.disk.publish(`${folder}/${ATTEMPT_FILES.exit}`, exitFile.encode(exit));
}

const EIO = 5;

/** For who only looks on: what cannot be read stays where it is. @returns null while there is no end that can be read */
export async function endOf(ports: AgentPorts, name: string): Promise<ExitRecord | null> {
  const path = `${attemptFolder(name)}/${ATTEMPT_FILES.exit}`;
  const found = await readRecord(ports, path, exitFile, { leave: true });
  return found.kind === 'found' ? found.value : null;
}

export async function readAttempt(ports: AgentPorts, name: string): Promise<AttemptState> {
  const folder = attemptFolder(name);
  // The end first: once it is there, all that came before it is there too.
  const exit = await readRecord(ports, `${folder}/${ATTEMPT_FILES.exit}`, exitFile);
  const started = await readRecord(ports, `${folder}/${ATTEMPT_FILES.started}`, startedFile, { leave: true });
  const startedAtMs = started.kind === 'found' ? started.value.atMs : null;
  if (exit.kind === 'found') return { kind: 'ended', exit: exit.value, startedAtMs };
  const claim = await readRecord(ports, `${folder}/${ATTEMPT_FILES.claim}`, claimFile, { leave: true });
  if (claim.kind === 'absent') return { kind: 'asked' };
  if (claim.kind === 'found' && 'fenced' in claim.value) {
    // The fence stands and the agent died before it wrote the end: nobody else ever will.
    return { kind: 'ended', exit: await endUnseen(ports, name, 'never-started'), startedAtMs: null };
  }
  const shim = claim.kind === 'found' && !('fenced' in claim.value) ? claim.value : null;
  if (started.kind === 'absent') return { kind: 'claimed', shim };
  return { kind: 'running', shim, pid: started.kind === 'found' ? started.value.pid : null, startedAtMs };
}

/** Takes the claim before any shim did, so that none ever runs. @returns false when one did */
export async function fence(ports: AgentPorts, name: string): Promise<boolean> {
  const path = `${attemptFolder(name)}/${ATTEMPT_FILES.claim}`;
  const done = await ports.disk.publish(path, claimFile.encode({ fenced: true }));
  if (done === 'published') await endUnseen(ports, name, 'never-started');
  return done === 'published';
}

/**
 * Removes what an attempt that has ended left, and its commands. The launch files go first: a shim that was asked for and
 * comes only now may find the claim of the fence gone already, and without a launch file it starts nothing.
 * @throws DiskError
 */
export async function removeAttempt(disk: Pick<Disk, 'list' | 'remove'>, name: string): Promise<void> {
  const folder = attemptFolder(name);
  const commands = await disk.list(`${folder}/exec`);
  for (const one of [folder, ...commands.map((commandId) => `${folder}/exec/${commandId}`)])
    await disk.remove(`${one}/${ATTEMPT_FILES.launch}`);
  await disk.remove(folder);
}

/**
 * For an attempt that has begun and not ended: is its shim gone? Then nobody will ever write the end, so what the task
 * left is killed, and the end is written here. A process number alone proves nothing (I30).
 * @returns true when something about the attempt has changed
 */
export async function checkShim(
  ports: AgentPorts,
  name: string,
  shim: ProcessIdentity | null,
): Promise<boolean> {
  const alive = shim === null ? await ports.processes.answers(name) : await ports.processes.isAlive(shim);
  if (alive) return false;
  // A shim writes the end before it goes.
  const path = `${attemptFolder(name)}/${ATTEMPT_FILES.exit}`;
  if ((await ports.disk.sizeOf(path)) !== null) return true;
  if ((await ports.processes.killLeftovers(name)) > 0) return false;
  const why = shim !== null && shim.boot !== ports.processes.bootId ? 'host-reboot' : 'shim-died';
  await endUnseen(ports, name, why);
  return true;
}

/** Writes the end of an attempt that nobody saw. @returns the end as it stands, also when somebody was earlier */
export async function endUnseen(ports: AgentPorts, name: string, why: string): Promise<ExitRecord> {
  const path = `${attemptFolder(name)}/${ATTEMPT_FILES.exit}`;
  const stopping = await readRecord(ports, `${attemptFolder(name)}/${ATTEMPT_FILES.stopping}`, stoppingFile, {
    leave: true,
  });
  const exit: ExitRecord = {
    lost: why,
    ...(stopping.kind === 'found' ? { stoppedBy: stopping.value.why } : {}),
    out: await outputEnd(ports, name, 'stdout'),
    err: await outputEnd(ports, name, 'stderr'),
    atMs: Math.round(ports.clock.nowMs()),
    by: 'agent',
  };
  await ports.disk.publish(path, exitFile.encode(exit));
  const there = await readRecord(ports, path, exitFile);
  return there.kind === 'found' ? there.value : exit;
}

async function outputEnd(ports: AgentPorts, name: string, stream: 'stdout' | 'stderr'): Promise<number> {
  const folder = attemptFolder(name);
  let end = 0;
  for (const file of await ports.disk.list(folder)) {
    const base = segmentOffset(stream, file);
    if (base !== null) end = Math.max(end, base + ((await ports.disk.sizeOf(`${folder}/${file}`)) ?? 0));
  }
  if (end > 0) return end;
  const spec = await readRecord(ports, `${folder}/${ATTEMPT_FILES.spec}`, attemptFile, { leave: true });
  if (spec.kind !== 'found') return 0;
  return stream === 'stdout' ? spec.value.outBase : spec.value.errBase;
}
