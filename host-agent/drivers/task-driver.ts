import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Task } from '../../src/core/cell/job.ts';
import type { IdRange } from '../../src/core/host/shim.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import type { DeviceNode } from '../limits/limits.ts';

/** One attempt at a task, about to be started. */
export interface AttemptOrder {
  readonly attempt: string;
  readonly allocation: Allocation;
  readonly task: Task;
  /** The allocation's own user; absent: its tasks run as the agent's. */
  readonly uid?: number;
  /** Of its user namespace; absent: it has none. */
  readonly ids?: IdRange;
  /** The secrets of its group by name, sealed to the hosts. */
  readonly sealed?: Readonly<Record<string, string>>;
  /** Nodes that it may open besides those that every program needs. */
  readonly devices?: readonly DeviceNode[];
  /** Of the attempt in each hierarchy of control groups, from its root; absent where there are none. */
  readonly group?: string;
}

/** What the allocation of an attempt has, and no other: of whatever else says it too. */
export type Owned = Pick<AttemptOrder, 'uid' | 'ids' | 'sealed'>;

export function ownedOf({ uid, ids, sealed }: Owned): Owned {
  return {
    ...(uid === undefined ? {} : { uid }),
    ...(ids === undefined ? {} : { ids }),
    ...(sealed === undefined ? {} : { sealed }),
  };
}

/** How a kind of task is run: what the shim is to do for it, and what must be there before and gone after. */
export interface TaskDriver {
  /** What the host can say of it; none: tasks of this kind cannot be run here. */
  readonly attributes: Readonly<Record<string, string>>;

  /**
   * Makes ready what the attempt needs. May be done again: after a crash between this and the start it will be.
   * @param launch the plain task, in its groups
   * @returns what the shim is to do
   * @throws PrepareError
   */
  prepare(order: AttemptOrder, launch: ShimLaunch): Promise<ShimLaunch>;

  /** Takes away what `prepare` made. @returns false while something is left; then ask again */
  cleanup(attempt: string): Promise<boolean>;

  /** Attempts of this host of which something is left. */
  scan(): Promise<readonly string[]>;
}

/** The attempt cannot be started here as ordered; the message says why, for people. Another host may be able to. */
export class PrepareError extends Error {
  override readonly name = 'PrepareError';
}
