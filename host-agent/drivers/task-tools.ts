import type { TaskDriverName } from '../../src/core/job.ts';
import { CgroupError } from '../../src/ports/cgroups.ts';
import type { ShimLaunch } from '../../src/wire/shim-files.ts';
import { openLimits } from '../limits/control-groups.ts';
import type { LimitsDriver } from '../limits/limits.ts';
import { LIMITED, NO_LIMITS } from '../limits/limits.ts';
import type { AgentPorts } from '../ports.ts';
import { openSandbox } from './sandbox.ts';
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
  readonly #drivers: Drivers;

  private constructor(limits: LimitsDriver, held: boolean, drivers: Drivers) {
    this.limits = limits;
    this.#drivers = drivers;
    const enforced: Record<string, string> = { 'limits.disk': 'none' };
    for (const limited of LIMITED) enforced[`limits.${limited}`] = limits.enforced[limited];
    const offered: Record<string, string> = {};
    for (const driver of drivers.values()) Object.assign(offered, driver.attributes);
    this.attributes = {
      ...offered,
      // A host whose tasks are only pretended has nothing to hold.
      ...(held ? enforced : {}),
    };
  }

  static async open(ports: AgentPorts, options: ToolsOptions): Promise<TaskTools> {
    const { cgroups, disk, log } = ports;
    const drivers = await openDrivers(ports);
    if (cgroups === undefined) return new TaskTools(NO_LIMITS, false, drivers);
    const { owner, cgroupParent } = options;
    const limits = await openLimits(cgroups, log, { owner, parent: cgroupParent, folder: disk.absolute('') });
    return new TaskTools(limits, true, drivers);
  }

  /** Makes everything ready for the shim. May be done again. @throws when the disk fails */
  async prepare(order: AttemptOrder, launch: ShimLaunch): Promise<Prepared> {
    const driver = this.#drivers.get(order.task.driver ?? 'exec');
    if (driver === undefined)
      return { kind: 'refused', why: `this host has no driver ${order.task.driver ?? 'exec'}` };
    try {
      const groups = await this.limits.create(order.attempt, limitsOf(order.task));
      return { kind: 'ready', launch: await driver.prepare(order, inGroups(launch, groups)) };
    } catch (error) {
      if (!(error instanceof CgroupError) && !(error instanceof PrepareError)) throw error;
      return { kind: 'refused', why: error.message };
    }
  }

  /** Takes away all that was made for an attempt that has ended. @returns false while something is left */
  async cleanup(attempt: string): Promise<boolean> {
    const clean = await Promise.all([...this.#drivers.values()].map((driver) => driver.cleanup(attempt)));
    // What a driver could not take away may still need its groups.
    return clean.every(Boolean) && (await this.limits.destroy(attempt));
  }

  /** Attempts of which something is left on this machine, whether they are known or not. */
  async scan(): Promise<readonly string[]> {
    const found = await Promise.all([
      this.limits.list(),
      ...[...this.#drivers.values()].map((driver) => driver.scan()),
    ]);
    return [...new Set(found.flat())].sort();
  }
}

type Drivers = ReadonlyMap<TaskDriverName, TaskDriver>;

/** Those that work on this machine. */
async function openDrivers({ commands, disk }: AgentPorts): Promise<Drivers> {
  const drivers = new Map<TaskDriverName, TaskDriver>([['exec', EXEC_DRIVER]]);
  const sandbox = commands === undefined ? null : await openSandbox(commands, disk);
  if (sandbox !== null) drivers.set('sandbox', sandbox);
  return drivers;
}
