import type { IdRange } from '../../src/core/host/shim.ts';
import type { ShimLaunch } from '../../src/wire/host-files/shim-launch.ts';
import type { AgentPorts } from '../ports.ts';
import type { AttemptOrder } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';

/** How far this host keeps tasks from each other and from itself. */
export interface Isolation {
  /** Each allocation has a user of its own. */
  readonly user: boolean;
  /** And sees no other's files and processes. */
  readonly view: boolean;
  /** A task may be root of a user namespace, and of its image's files there. */
  readonly ids: boolean;
}

export const NO_ISOLATION: Isolation = { user: false, view: false, ids: false };

/** One run of a small program. */
const TRY_MS = 10_000;
const TRIAL = 'trial/own';

/**
 * Tries with the shim what tasks would be given. What cannot be had is logged, with the reason.
 * @param shim the compiled one; null: this agent has none, or is not root
 * @param uid one of the host's users for tasks @param ids one of its ranges of them
 */
export async function tryIsolation(
  ports: AgentPorts,
  shim: string | null,
  { uid, ids }: { readonly uid: number; readonly ids: IdRange },
): Promise<Isolation> {
  const { commands, disk, log } = ports;
  if (commands === undefined) return NO_ISOLATION;
  if (shim === null) {
    log.warn(
      {},
      'tasks run as the user of this agent, and see its files: that takes root and the compiled shim',
    );
    return NO_ISOLATION;
  }
  /** @returns why it did not work */
  const attempt = async (...words: string[]): Promise<string | null> => {
    const { code, out, err } = await commands.run([shim, ...words], TRY_MS);
    return code === 0 ? null : `${out}${err}`.trim();
  };
  try {
    for (const folder of [TRIAL, `${TRIAL}/image`, `${TRIAL}/layer`]) await disk.makeFolder(folder);
    const folder = disk.absolute(TRIAL);
    const view = await attempt('--try', folder, String(uid), 'view');
    if (view !== null) {
      log.warn(
        { why: view },
        'tasks see the files and processes of this host: they cannot have a view of their own',
      );
      const user = await attempt('--try', folder, String(uid));
      if (user === null) return { user: true, view: false, ids: false };
      log.warn({ why: user }, 'tasks run as the user of this agent, and see its files');
      return NO_ISOLATION;
    }
    const root = await attempt('--try-ids', folder, String(ids.first), String(ids.count));
    if (root !== null)
      log.warn(
        { why: root },
        'no task can have a user namespace: none begins as root (user: root), and containers run under the numbers of their images',
      );
    return { user: true, view: true, ids: root === null };
  } finally {
    await disk.remove('trial');
  }
}

/** For constraints: `isolation.user == own`, `isolation.view == own`. */
export function isolationAttributes({ user, view, ids }: Isolation): Record<string, string> {
  return {
    'isolation.user': user ? 'own' : 'none',
    'isolation.view': view ? 'own' : 'none',
    'isolation.userns': ids ? 'own' : 'none',
  };
}

/**
 * A stranger on its host: a user of its own, without a capability or a way to one.
 * @param folder absolute path of the allocation's folder
 */
export function asStranger(
  launch: ShimLaunch,
  { task, uid }: Pick<AttemptOrder, 'task' | 'uid'>,
  folder: string,
  isolation: Isolation,
): ShimLaunch {
  if (uid === undefined || task.user === 'agent') return launch;
  if (!isolation.user) throw new PrepareError('this host can give it no user of its own any more');
  return {
    ...launch,
    user: { uid, gid: uid },
    noNewPrivileges: true,
    capabilities: 'none',
    own: folder,
    ...(isolation.view ? { apart: true } : {}),
  };
}
