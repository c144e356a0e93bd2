import type { IdRange, ShimUser } from '../../core/host/shim.ts';

/**
 * The order to a shim for one run of a command, in the file `launch` (its text: `launch-codec.ts`). Absent fields have no
 * effect. A step that fails ends the attempt with `execErrno` and `execStep` in `exit`: a command never runs with less than
 * what was ordered.
 */
export interface ShimLaunch {
  /** Absolute; seen from inside the namespaces that are entered. */
  readonly cwd: string;
  /** Offsets at which output begins: where the task's previous attempt ended. */
  readonly outBase: number;
  readonly errBase: number;
  /** Output lies in files of this many bytes, of which the newest `segmentsMax` are kept. */
  readonly segmentBytes: number;
  readonly segmentsMax: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user?: ShimUser;
  readonly rlimits?: readonly Rlimit[];
  /** Files `cgroup.procs`, or `tasks` of v1, into which the child writes itself before anything else. */
  readonly cgroupProcs?: readonly string[];
  readonly oomScoreAdj?: number;
  readonly nice?: number;
  readonly noNewPrivileges?: boolean;
  /** `none`: no capability, no way to one, and no keys of the kernel's that the shim's user holds. */
  readonly capabilities?: 'none';
  /**
   * Absolute path of the allocation's folder: its `work` becomes the user's, with nobody else let in. Needs `user`, and a
   * shim that is root.
   */
  readonly own?: string;
  /**
   * With `own`. The command sees neither the rest of the state folder nor other users' processes, and has a folder of its
   * allocation's in the place of those that everybody may write to (`/tmp`, `/var/tmp`, `/dev/shm`, `/run/lock`).
   */
  readonly apart?: boolean;
  /** With `apart`: files and folders, hidden or not, that are seen at the second path. */
  readonly show?: readonly ShownPath[];
  /**
   * A user namespace: 0 and what follows in there are, outside, ids of the allocation's own. Its folders are given to the
   * first of them. `enter`: the command itself begins in there, with all its capabilities; else a runtime makes one.
   */
  readonly ids?: IdRange & { readonly enter?: boolean };
  /** With `apart` and `ids`: at `at` lies what `image` has, its owners seen as those ids, and can be changed: in `layer`. */
  readonly root?: { readonly image: string; readonly layer: string; readonly at: string };
  /** Entered in this order, but `mnt` last, and `user` first, or by root at the very end. */
  readonly namespaces?: readonly NamespacePath[];
  /** Enters all namespaces in which this process differs from the shim; the start time guards against another process. */
  readonly join?: { readonly pid: number; readonly start: number };
  /** The command gets a terminal of this size; what it writes is all `stdout`. */
  readonly pty?: { readonly rows: number; readonly columns: number };
  /** Default `closed`: the command reads from nothing. A terminal is always open. */
  readonly stdin?: 'open' | 'closed';
  /** Stopped when it has run this long, by the monotonic clock, with or without an agent. */
  readonly runMaxMs?: number;
  /** Stopped when no agent has renewed this for so long (I16). Every renewal brings the next term with it. */
  readonly stopAfterDisconnectMs?: number;
  /** How a deadline stops it. Default SIGTERM and 5 s. */
  readonly stop?: { readonly signal: string; readonly graceMs: number };
  /** The command creates a container and ends; the process in the pid file is the task. */
  readonly adopt?: {
    readonly pidFile: string;
    /** Run once the pid file is read, with the same output; must end with 0. Empty: nothing to run. */
    readonly start: readonly string[];
  };
  /** Tried in this order, before the kill of all descendants, which is always done. */
  readonly kill?: readonly KillMethod[];
  /** Files with a line `oom_kill <n>`: v1 `memory.oom_control`, v2 `memory.events`. */
  readonly oomFiles?: readonly string[];
  /** v2 `cgroup.freeze`, or v1 `freezer.state`. Without it the task cannot be frozen. */
  readonly freezeFile?: string;
  /**
   * The command is a sandbox: the task proper is the first child of its first child, as in bubblewrap. Commands inside the
   * task join that process, and none starts before it exists: until then the sandbox may be open.
   */
  readonly inner?: boolean;
  /** System calls that fail. Only together with `noNewPrivileges` or as root. */
  readonly deny?: readonly DeniedCall[];
  /**
   * The filter of `deny` is not the command's: it finds it as a program at this descriptor, and gives it to what it runs
   * itself, as bubblewrap does.
   */
  readonly denyFd?: number;
  /** For commands inside the task, where they start in another way than the task: its order may be one to a runtime. */
  readonly inside?: InsideContext;
}

export interface ShownPath {
  readonly from: string;
  readonly to: string;
}

/** A system call by its name, which fails with `errno`; with `when`, only if `(argument & mask) == value`. */
export interface DeniedCall {
  readonly call: string;
  readonly errno: number;
  readonly when?: { readonly argument: number; readonly mask: number; readonly value: number };
}

export interface InsideContext {
  readonly cwd?: string;
  /** Instead of the task's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: Pick<ShimUser, 'uid' | 'gid'>;
  readonly deny?: readonly DeniedCall[];
}

export const RLIMITS = [
  ...(['as', 'core', 'cpu', 'data', 'fsize', 'memlock', 'msgqueue', 'nofile', 'nproc'] as const),
  ...(['rss', 'sigpending', 'stack'] as const),
] as const;

export interface Rlimit {
  readonly name: (typeof RLIMITS)[number];
  /** In the system's own unit; null: no limit. */
  readonly soft: number | null;
  readonly hard: number | null;
}

export const NAMESPACES = ['user', 'cgroup', 'ipc', 'uts', 'net', 'pid', 'time', 'mnt'] as const;

export interface NamespacePath {
  readonly kind: (typeof NAMESPACES)[number];
  /** `/run/netns/a`, `/proc/12/ns/net`. */
  readonly path: string;
}

/**
 *   cgroup    path of a v2 `cgroup.kill`
 *   freezer   path of a v1 freezer folder: freeze, kill what `cgroup.procs` lists, thaw
 *   environ   all processes whose environment holds the text `mark`: the last resort, for what the others left
 */
export type KillMethod =
  | { readonly kind: 'cgroup'; readonly path: string }
  | { readonly kind: 'freezer'; readonly path: string }
  | { readonly kind: 'environ'; readonly mark: string };

/** Names the id of the host's state folder: two hosts on one machine may have attempts of the same name. */
export const STATE_MARK = 'MOORAGE_STATE';
