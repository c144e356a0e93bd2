import type { Cgroups } from '../../src/ports/cgroups.ts';
import { CgroupError } from '../../src/ports/cgroups.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { OUR_GROUP } from './limits.ts';

/** Beside the groups of attempts, whose names have dots in them. */
const SHIMS = 'shims';

/**
 * Makes the groups in which the shims of all host-agents of this machine live: not the agent's, which may be killed or
 * held as a whole, and not those of tasks, whose limits are the tasks'.
 * @param parent group under which ours are made, in each hierarchy: '' for the root
 * @returns their files `cgroup.procs`; none in a hierarchy that is not ours to use, where shims stay with their agent
 */
export async function makeShimGroups(cgroups: Cgroups, log: Log, parent: string): Promise<readonly string[]> {
  const made: string[] = [];
  for (const mount of await cgroups.mounts()) {
    const group = [mount.path, parent, OUR_GROUP, SHIMS].filter((part) => part !== '').join('/');
    try {
      await cgroups.make(group);
      made.push(`${group}/cgroup.procs`);
    } catch (error) {
      if (!(error instanceof CgroupError)) throw error;
      log.warn({ error: error.message }, 'shims stay in the group of their agent');
    }
  }
  return made;
}
