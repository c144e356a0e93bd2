import { SYSTEM_NAMESPACE } from '../cell/ids.ts';
import type { TaskNetwork, TaskUser } from '../cell/job.ts';

/**
 * What a task may ask beyond being a stranger on its host. Each is in a host's attributes as `allow.<name>`, `true` or
 * `false`, by its operator's policy.
 *
 *   agent-user     runs as the agent's user, and sees what that sees
 *   host-network   a sandbox or container has the network of the host
 *   root           a sandbox or container begins as root of a user namespace, whose ids are outside its allocation's own
 *   system         the same as agent-user, for what the cell itself consists of: tasks of the namespace `system`
 */
export const ALLOWANCES = ['agent-user', 'host-network', 'root', 'system'] as const;
export type Allowance = (typeof ALLOWANCES)[number];

/** What a host allows whose operator says nothing. */
export const ALLOWED_BY_DEFAULT: readonly Allowance[] = ['host-network', 'root'];

/** What a host allows that says nothing of it, as one with an agent of before there was such an attribute. */
export const ALLOWED_UNTOLD: readonly Allowance[] = ['host-network'];

export function allowanceAttribute(allowance: Allowance): string {
  return `allow.${allowance}`;
}

/** A task, of a job or of a file. */
interface Asking {
  readonly user?: TaskUser | undefined;
  readonly network?: TaskNetwork | undefined;
}

/** What these tasks need to be allowed. @param namespace of their job */
export function neededBy(tasks: Iterable<Asking>, namespace: string): readonly Allowance[] {
  const needed = new Set<Allowance>();
  for (const { user, network } of tasks) {
    if (user === 'agent') needed.add(namespace === SYSTEM_NAMESPACE ? 'system' : 'agent-user');
    if (user === 'root') needed.add('root');
    if (network === 'host') needed.add('host-network');
  }
  return ALLOWANCES.filter((one) => needed.has(one));
}
