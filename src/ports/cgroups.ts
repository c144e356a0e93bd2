import { PortError } from './ports.ts';

/**
 * Control groups of the kernel, as files. All paths are absolute, below the path of a mount. `host-agent/limits` decides what is
 * written where.
 */
export interface Cgroups {
  /** The hierarchies that are mounted; empty where there are none. */
  mounts(): Promise<readonly CgroupMount[]>;

  /**
   * Makes a group, and those above it, and writes values into its files. One that is there already is good.
   * @throws CgroupError
   */
  make(group: string, values?: readonly CgroupValue[]): Promise<void>;

  /**
   * Removes a group with all groups in it.
   * @returns `busy`: a process runs there, or is a zombie; try again
   * @throws CgroupError
   */
  remove(group: string): Promise<'removed' | 'busy'>;

  /** Names of the groups directly in a group; empty when it is not there. */
  list(group: string): Promise<readonly string[]>;

  /** @returns null when there is no such file, or this kernel cannot read it */
  read(file: string): Promise<string | null>;

  /** @throws CgroupError */
  write(file: string, text: string): Promise<void>;

  /** Sends SIGKILL to each process that `cgroup.procs` of the group names. For groups that are frozen. @returns how many */
  killListed(group: string): Promise<number>;

  /** The kernel's account of time lost to waiting for memory, on the whole machine; null: this kernel has none. */
  pressure(): Promise<string | null>;

  /** The whole block device, as `major:minor`, that a folder lies on; null when it lies on none. */
  deviceOf(folder: string): Promise<string | null>;
}

/** One value to write into a file of a group. `mayLack`: a kernel without the file is no error. */
export interface CgroupValue {
  readonly file: string;
  readonly text: string;
  readonly mayLack?: boolean;
}

export interface CgroupMount {
  /** 1: a hierarchy of its own for some controllers. 2: the unified one. */
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  /** Its root group. */
  readonly path: string;
}

/** `absent`: no such group or file. `denied`: not ours to change. `refused`: the kernel does not take the value. */
export type CgroupErrorCode = 'absent' | 'denied' | 'refused';

export class CgroupError extends PortError<CgroupErrorCode> {
  override readonly name = 'CgroupError';

  constructor(code: CgroupErrorCode, message: string, cause?: unknown) {
    super(code, message, { retryable: false, cause });
  }
}
