import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { linuxCgroups } from '../../../src/adapters/processes/cgroups.ts';

/** What of a host is still on this machine: files, processes and control groups. Empty when nothing is. */
export async function remainsOf(stateFolder: string): Promise<readonly string[]> {
  return [...filesIn(stateFolder), ...processesOf(stateFolder), ...(await groupsOf(stateFolder))];
}

const CLEAN_TRIES = 1_000;

/** What is there goes away by itself, but for what `may` stay. @returns what did not */
export async function untilClean(folder: string, may: (one: string) => boolean): Promise<readonly string[]> {
  for (let tries = 0; ; tries++) {
    const left = (await remainsOf(folder)).filter((one) => !may(one));
    if (left.length === 0 || tries === CLEAN_TRIES) return left;
    await new Promise((next) => setTimeout(next, 20));
  }
}

/** Of the host's folder only what belongs to the host itself may be there. */
const OWN = new Set([
  'identity',
  'incarnation',
  'journal',
  'reserve',
  'locks',
  'events',
  'cas',
  'quarantine',
]);

function filesIn(stateFolder: string): string[] {
  const top = namesIn(stateFolder).filter((name) => !OWN.has(name));
  const emptied = [
    'allocations',
    'attempts',
    'leases/port',
    'leases/address',
    'leases/user',
    'oci/containers',
    'events',
    'cas/tmp',
  ];
  const inside = emptied.flatMap((room) =>
    namesIn(join(stateFolder, room))
      .filter((name) => name !== '.bell')
      .map((name) => `${room}/${name} (${namesIn(join(stateFolder, room, name)).join(', ')})`),
  );
  return [...top.filter((name) => !['allocations', 'attempts', 'leases', 'oci'].includes(name)), ...inside];
}

/** Tasks, shims and spawners name the folder in their arguments or in their environment. */
export function processesOf(folder: string): string[] {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
      const names = command.includes(folder) || textOf(`/proc/${pid}/environ`).includes(folder);
      return names && !isZombie(pid) ? [`process ${pid} ${stateOf(pid)} ${command}`] : [];
    });
}

async function groupsOf(stateFolder: string): Promise<string[]> {
  const { stateId } = JSON.parse(textOf(join(stateFolder, 'identity'))) as { stateId: string };
  const cgroups = linuxCgroups();
  const found: string[] = [];
  for (const { path } of await cgroups.mounts())
    for (const name of await cgroups.list(join(path, 'moorage')))
      if (name.includes(stateId)) found.push(`group ${path}/moorage/${name}`);
  return found;
}

/** As the kernel letters it: `S` sleeps, `T` is stopped, `Z` has ended. */
function stateOf(pid: string): string {
  return /\) ([A-Z]) [^)]*$/.exec(textOf(`/proc/${pid}/stat`))?.[1] ?? 'X';
}

function isZombie(pid: string): boolean {
  return ['Z', 'X'].includes(stateOf(pid));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
