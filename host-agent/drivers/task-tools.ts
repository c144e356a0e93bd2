import { CgroupError } from '../../src/ports/cgroups.ts';
import type { ShimLaunch } from '../../src/wire/shim-files.ts';
import { openLimits } from '../limits/control-groups.ts';
import type { LimitsDriver } from '../limits/limits.ts';
import { LIMITED, NO_LIMITS } from '../limits/limits.ts';
import type { AgentPorts } from '../ports.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { EXEC_DRIVER, PrepareError } from './task-driver.ts';
import { inGroups, limitsOf } from './task-limits.ts';

/** The world as a task of this host sees it. */
export interface TaskPorts extends AgentPorts {
  readonly tools: TaskTools;
}

/** `refused`: it is not to be started, and `why` is for people. */
export type Prepared =
  | { readonly kind: 'ready'; readonly launch: ShimLaunch }
  | { readonly kind: 'refused'; readonly why: string };

export interface ToolsOptions {
  /** Unique on this machine, the same after a restart. */
  readonly owner: string;
  readonly cgroupParent: string;
}

/** What a host runs its tasks with: limits, and a driver for each kind of task. */
export class TaskTools {
  /** What the host can do, for constraints: `driver.*`; and what it holds tasks to: `limits.*`. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly limits: LimitsDriver;
  readonly #driver: TaskDriver = EXEC_DRIVER;

  private constructor(limits: LimitsDriver, held: boolean) {
    this.limits = limits;
    const enforced: Record<string, string> = { 'limits.disk': 'none' };
    for (const limited of LIMITED) enforced[`limits.${limited}`] = limits.enforced[limited];
    this.attributes = {
      ...this.#driver.attributes,
      // A host whose tasks are only pretended has nothing to hold.
      ...(held ? enforced : {}),
    };
  }

  static async open(ports: AgentPorts, options: ToolsOptions): Promise<TaskTools> {
    const { cgroups, disk, log } = ports;
    if (cgroups === undefined) return new TaskTools(NO_LIMITS, false);
    const { owner, cgroupParent } = options;
    const limits = await openLimits(cgroups, log, { owner, parent: cgroupParent, folder: disk.absolute('') });
    return new TaskTools(limits, true);
  }

  /** Makes everything ready for the shim. May be done again. @throws when the disk fails */
  async prepare(order: AttemptOrder, launch: ShimLaunch): Promise<Prepared> {
    try {
      const groups = await this.limits.create(order.attempt, limitsOf(order.task));
      return { kind: 'ready', launch: await this.#driver.prepare(order, inGroups(launch, groups)) };
    } catch (error) {
      if (!(error instanceof CgroupError) && !(error instanceof PrepareError)) throw error;
      return { kind: 'refused', why: error.message };
    }
  }

  /** Takes away all that was made for an attempt that has ended. @returns false while something is left */
  async cleanup(attempt: string): Promise<boolean> {
    const clean = await this.#driver.cleanup(attempt);
    return (await this.limits.destroy(attempt)) && clean;
  }

  /** Attempts of which something is left on this machine, whether they are known or not. */
  async scan(): Promise<readonly string[]> {
    const found = [await this.limits.list(), await this.#driver.scan()];
    return [...new Set(found.flat())].sort();
  }
}
