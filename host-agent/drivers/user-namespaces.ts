import type { IdRange } from '../../src/core/host/shim.ts';
import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ImageFacts } from '../../src/wire/host-files/image-files.ts';
import type { ShimLaunch } from '../../src/wire/host-files/shim-launch.ts';
import type { Isolation } from './isolation.ts';
import type { AttemptOrder } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';

/** Tasks that begin as root of a user namespace (`user: root`): the ids of it are their allocation's, and nobody's outside. */

/** Of some million files. */
const CHOWN_MS = 600_000;

/** Root of a user namespace, as a container's programs expect it: what it needs for files and users, and for nothing else. */
export const ROOT_CAPABILITIES = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID'],
  ...['SETPCAP', 'SETUID', 'SYS_CHROOT'],
].map((name) => `CAP_${name}`);

/** @throws PrepareError where this host has none for it */
export function idsFor({ task, ids }: AttemptOrder, isolation: Isolation): IdRange | null {
  if (task.user !== 'root') return null;
  if (ids !== undefined && isolation.ids) return ids;
  throw new PrepareError('this host has no user namespace for it to be root of');
}

/**
 * A container has them too when its task does not begin as root: its image's user is a number of its allocation's own then.
 * @returns null where the host has none, for the agent's own user, and for a number beyond the range, which is nobody's else either
 * @throws PrepareError as `idsFor`
 */
export function idsOfContainer(order: AttemptOrder, isolation: Isolation, facts: ImageFacts): IdRange | null {
  const { task, ids } = order;
  if (task.user !== undefined) return idsFor(order, isolation);
  if (ids === undefined || !isolation.ids) return null;
  return Math.max(facts.uid, facts.gid) < ids.count ? ids : null;
}

/**
 * What became of files of a range of ids: they are the allocation's single user's from then on, so that the range can be lent
 * to others. Nothing of its tasks runs any more; links are not followed.
 * @returns false when it is to be done again
 */
export async function takeBackFiles(
  { commands, disk }: { readonly commands: Commands; readonly disk: Disk },
  allocation: string,
  uid: number,
): Promise<boolean> {
  const folder = `allocations/${allocation}`;
  await disk.remove(`${folder}/layers`);
  const there = await disk.list(folder);
  const own = ['work', 'tmp'].filter((name) => there.includes(name));
  if (own.length === 0) return true;
  const paths = own.map((name) => disk.absolute(`${folder}/${name}`));
  const owner = `${String(uid)}:${String(uid)}`;
  const { code } = await commands.run(['chown', '-R', '-h', owner, '--', ...paths], CHOWN_MS);
  return code === 0;
}

/**
 * Root of a user namespace of its own, which the shim makes: a stranger outside, with the view of one. Whoever makes a
 * sandbox for it does so in there.
 * @param folder absolute path of the allocation's folder
 */
export function asRoot(launch: ShimLaunch, ids: IdRange, folder: string): ShimLaunch {
  return {
    ...launch,
    ids: { ...ids, enter: true },
    user: { uid: 0, gid: 0 },
    noNewPrivileges: true,
    own: folder,
    apart: true,
  };
}
