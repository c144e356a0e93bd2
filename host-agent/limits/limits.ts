/**
 * What an attempt may use, and what it used. `control-groups.ts` makes, reads and removes the groups of each attempt in the
 * hierarchies that the machine has; `settings.ts` turns limits into the files' texts, `readings.ts` the files' texts into
 * usage; `shim-groups.ts` are the groups of the shims.
 */
/** What one attempt at a task may use at most. null: no bound. */
/** A node of a device, as the kernel knows it. */
export interface DeviceNode {
  /** Below `/dev`. */
  readonly path: string;
  /** Of characters or blocks. */
  readonly type: 'c' | 'b';
  readonly major: number;
  readonly minor: number;
}

export interface Limits {
  /** Above this the kernel kills. Swap included, where it is counted. */
  readonly memoryMaxMib: number | null;
  /** Above this the kernel slows the task down and takes memory back. Where the host has v2 only. */
  readonly memoryHighMib: number | null;
  /** Share of the CPU when it is short: in proportion to these, and no bound when it is not. */
  readonly cpuMilli: number;
  /** CPU time that is never exceeded, idle machine or not. */
  readonly cpuMaxMilli: number | null;
  /** Processes and threads. */
  readonly pidsMax: number | null;
  /** Bytes a second from and to the disk of the state folder. */
  readonly ioReadBytes: number | null;
  readonly ioWriteBytes: number | null;
  /** The device nodes that it may open, besides those that every program needs; absent: all that the machine lets it open. */
  readonly devices?: readonly DeviceNode[];
}

/** What an attempt has used; a fact that this host cannot tell is absent. */
export interface Usage {
  readonly memoryBytes?: number;
  readonly memoryPeakBytes?: number;
  readonly cpuMs?: number;
  /** Periods in which it was held back because its CPU time was used up. */
  readonly throttledPeriods?: number;
  readonly pids?: number;
  /** Forks that were refused. */
  readonly pidsRefused?: number;
}

/** Where the shim puts a task, and how it ends all that is in there. */
export interface LimitGroups {
  /** Of the task in each hierarchy, from its root; null where there are none. */
  readonly path: string | null;
  /** `cgroup.procs`, or `tasks` of v1: the task's process is written into each between fork and exec, with one thread. */
  readonly procs: readonly string[];
  /** `cgroup.kill` of the task's group: ends everything in it at once; null where the kernel has none. */
  readonly killFile: string | null;
  /** The task's group in the v1 freezer; null where there is none. */
  readonly freezer: string | null;
  /** `cgroup.freeze`, or `freezer.state` of v1. */
  readonly freezeFile: string | null;
  /** Has a line `oom_kill <n>`; null where memory is not limited. */
  readonly oomFile: string | null;
}

export const NO_GROUPS: LimitGroups = {
  path: null,
  procs: [],
  killFile: null,
  freezer: null,
  freezeFile: null,
  oomFile: null,
};

/** All groups of all host-agents of a machine lie in this one, in each hierarchy. */
export const OUR_GROUP = 'moorage';

/** How each resource is held to its limit: `none` is counted by the schedulers and not enforced here. */
export type Enforced = 'v2' | 'v1' | 'none';

export const LIMITED = ['cpu', 'memory', 'pids', 'io', 'devices'] as const;
export type Limited = (typeof LIMITED)[number];

/**
 * Holds attempts to their limits. Every attempt has one group, of the attempt's name, in each hierarchy that is used; no
 * group of anybody else is ever touched.
 */
export interface LimitsDriver {
  readonly enforced: Readonly<Record<Limited, Enforced>>;

  /**
   * Makes the attempt's groups, limits set before anything is in them. May be done again.
   * @throws CgroupError when it cannot be done in full; then the attempt must not be started
   */
  create(attempt: string, limits: Limits): Promise<LimitGroups>;

  /** @throws CgroupError when the kernel refuses: a memory limit below what is in use, for one */
  update(attempt: string, limits: Limits): Promise<void>;

  stat(attempt: string): Promise<Usage>;

  /** Processes of the attempt that the kernel killed for memory; 0 where no group counts them. */
  oomKills(attempt: string): Promise<number>;

  /** Kills everything that is in the attempt's group. @returns false where the kernel has no means for it */
  kill(attempt: string): Promise<boolean>;

  freeze(attempt: string, on: boolean): Promise<void>;

  /** Does anything run in the attempt's group? */
  populated(attempt: string): Promise<boolean>;

  /** @returns false while something is still there; then ask again */
  destroy(attempt: string): Promise<boolean>;

  /** Attempts of this host that have groups. */
  list(): Promise<readonly string[]>;

  /** Groups of other hosts beside ours, and of earlier state folders of this one, in which nothing runs. By name. */
  foreignEmpty(): Promise<readonly string[]>;

  /** Takes away groups of that name, unless something runs in them. @returns whether they are gone */
  removeForeign(name: string): Promise<boolean>;
}

/** Where the kernel gives nothing, or the agent may not use it: counted, and not held. */
export const NO_LIMITS: LimitsDriver = {
  enforced: { cpu: 'none', memory: 'none', pids: 'none', io: 'none', devices: 'none' },
  create: async () => NO_GROUPS,
  update: async () => undefined,
  stat: async () => ({}),
  oomKills: async () => 0,
  kill: async () => false,
  freeze: async () => undefined,
  populated: async () => false,
  destroy: async () => true,
  list: async () => [],
  foreignEmpty: async () => [],
  removeForeign: async () => true,
};
