import type { ExecOrder } from '../../core/host/shim.ts';
import type { StartedRecord } from './attempt-files.ts';
import type { ShimLaunch } from './shim-launch.ts';
import { STATE_MARK } from './shim-launch.ts';

/** Finds the processes of one command, as `MOORAGE_ATTEMPT` finds all of an attempt. */
export const COMMAND_MARK = 'MOORAGE_COMMAND';

/**
 * In the environment of this command's processes alone. Its id does not suffice: clients choose it, and another task, or
 * another host on this machine, may have a command with the same id.
 * @param env of the task
 */
function commandName(env: Readonly<Record<string, string>>, commandId: string): string {
  return [env[STATE_MARK] ?? '', env['MOORAGE_ATTEMPT'] ?? '', commandId].join('/');
}

/**
 * The launch of a command inside a task: same groups, same limits, same namespaces, output from 0. It is never killed by
 * the task's cgroup, which would kill the task. A container's folders are its own, so there it begins at the top.
 * @param inside the process whose namespaces it enters
 */
export function execLaunch(
  task: ShimLaunch,
  inside: Pick<StartedRecord, 'pid' | 'start'>,
  commandId: string,
  order: ExecOrder,
): ShimLaunch {
  const { adopt, inner: _inner, inside: within, pty: _pty, stdin: _stdin, runMaxMs: _run, ...rest } = task;
  const { stopAfterDisconnectMs: _lease, stop: _stop, namespaces: _namespaces, ...alike } = rest;
  const { own: _own, apart: _apart, show: _show, ids: _ids, root: _root, denyFd: _fd, ...context } = alike;
  const { env, ...own } = order;
  const name = commandName(task.env, commandId);
  return {
    ...context,
    ...(within?.user === undefined ? {} : { user: within.user }),
    ...(within?.deny === undefined ? {} : { deny: within.deny }),
    cwd: within?.cwd ?? (adopt === undefined ? task.cwd : '/'),
    ...own,
    env: { ...(within?.env ?? task.env), ...env, [COMMAND_MARK]: name },
    outBase: 0,
    errBase: 0,
    join: { pid: inside.pid, start: inside.start },
    kill: [{ kind: 'environ', mark: `${COMMAND_MARK}=${name}` }],
  };
}
