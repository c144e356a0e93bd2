import type { GpuRequest, Resources } from './resources.ts';
import type { Interference } from './interference.ts';
import type { Mount, Volume } from './volume.ts';

/**
 * A job in canonical form: every default filled in, every amount an integer. The parser of job files (`src/wire`) makes
 * it; no other code knows short forms.
 */
export interface Job {
  readonly namespace: string;
  readonly name: string;
  readonly type: JobType;
  /** 0 to 100, cell-wide: a higher one may preempt a lower one. */
  readonly precedence: number;
  /** Kind of scheduler that may work on it; `auto` follows the type. */
  readonly scheduler: SchedulerKind | 'auto';
  readonly labels: Readonly<Record<string, string>>;
  readonly groups: Readonly<Record<string, Group>>;
  /** When its user had all of it restarted last: another time is other work. Absent: never. */
  readonly restartedAtMs?: number;
  /** Made by a one-off run: shown as such, and deleted after its retention. */
  readonly oneOff: boolean;
}

export const JOB_TYPES = ['service', 'batch', 'system'] as const;
export type JobType = (typeof JOB_TYPES)[number];

export const SCHEDULER_KINDS = ['service', 'batch', 'system', 'elastic'] as const;
export type SchedulerKind = (typeof SCHEDULER_KINDS)[number];

/**
 * How far a scheduler of kind `elastic` gives idle resources to a job:
 * - `max-parallelism`: as long as another instance is of use
 * - `global-cap`: the same, but growth never brings the use of the cell above a share of it
 * - `relative-job-size`: up to a multiple of the minimum
 */
export const ELASTIC_POLICIES = ['max-parallelism', 'global-cap', 'relative-job-size'] as const;
export type ElasticPolicy = (typeof ELASTIC_POLICIES)[number];

/** Tasks that share one allocation: placed together on one host, `count` times. */
export interface Group extends Interference {
  readonly name: string;
  /** How many allocations; ignored by `system` jobs, which have one per matching host. Of an elastic group: the minimum. */
  readonly count: number;
  /** Of a batch group that grows into idle capacity: how many at most. Absent: `count`, no more and no fewer. */
  readonly countMax?: number;
  /** How many of them may run at once; null: all. */
  readonly parallelism: number | null;
  /** All of `count` become effective in one revision, or none. */
  readonly gang: boolean;
  /** Port label to fixed number; 0 asks for any free one. */
  readonly ports: Readonly<Record<string, number>>;
  readonly constraints: readonly Expression[];
  readonly affinities: readonly Affinity[];
  readonly spread: readonly Spread[];
  /** No two allocations of the group share a value of these host attributes (`id`: one per host). */
  readonly distinct: readonly string[];
  readonly tasks: Readonly<Record<string, Task>>;
  readonly restart: RestartPolicy;
  readonly reschedule: ReschedulePolicy;
  /** Run time after which the host stops the allocation with the reason `deadline`; null: none. */
  readonly deadlineMs: number | null;
  /**
   * The host stops the allocation, with the reason `disconnected`, after so long without contact to the cell, also while
   * its agent is dead (I16). Absent: it runs on.
   */
  readonly stopAfterDisconnectMs?: number;
  /**
   * An allocation on a lost host is replaced when one of these fences has confirmed that it runs no more there (S0.34). Absent:
   * after the time that `stopAfterDisconnectMs` gives, or at once.
   */
  readonly fences?: readonly string[];
  /**
   * From the order to end an allocation, which takes it out of its names, until its tasks get their stop signal. Absent: none.
   */
  readonly shutdownDelayMs?: number;
  /** In an update: how long an allocation must run without a restart until the next one is replaced. Absent: 10 s. */
  readonly minHealthyMs?: number;
  /** How a new version takes the place of the old one, as far as its author said so. */
  readonly update?: UpdatePolicy;
  /** How long the group may wait for a place before the job fails as unplaceable; null: for ever. */
  readonly waitMaxMs: number | null;
  /** Data that outlives its allocations, by name. Absent: none. */
  readonly volumes?: Readonly<Record<string, Volume>>;
}

export interface Task {
  readonly name: string;
  /** Absolute path or a name that the host looks up in its own `PATH`; then the arguments. Never a shell line. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly resources: Resources;
  readonly gpu: GpuRequest | null;
  /** Amounts of shared resources, by name (see shared-resource.ts); absent: none. */
  readonly shared?: Readonly<Record<string, number>>;
  readonly limits?: TaskLimits;
  /** Absent: `exec`. */
  readonly driver?: TaskDriverName;
  /** The network of a task in namespaces of its own; absent: loopback only. A plain process has the host's. */
  readonly network?: TaskNetwork;
  /**
   * Absent: a user of its allocation's own, or an image's. `agent`: a plain process runs as the user of its host's agent.
   * `root`: in a sandbox or from an image, it starts as root of a user namespace, and may become others there.
   */
  readonly user?: TaskUser;
  /** Names that it uses. Absent: none. */
  readonly endpoints?: readonly UsedName[];
  /** Names of secrets of its namespace, which it finds as files in memory. */
  readonly secrets?: readonly string[];
  /** An archive of an image, for the driver `oci`. */
  readonly image?: Artifact;
  /** Files that the host fetches before the task starts, by name: read-only, or a copy of its own. */
  readonly artifacts?: Readonly<Record<string, Artifact>>;
  /** Volumes of its group, by name. Absent: none. */
  readonly mounts?: Readonly<Record<string, Mount>>;
  readonly stop: StopPolicy;
  /** Asked again and again by its host while it runs, by name; absent: a task that runs is ready. */
  readonly checks?: Readonly<Record<string, Check>>;
  /** A sidecar is stopped when all other tasks of its group have ended, and does not decide the outcome. */
  readonly sidecar: boolean;
  /** It reads what attached clients write. Absent: it reads from nothing. */
  readonly stdin?: true;
  /** It has a terminal, whose size an attached client sets; all that it shows is its output. Absent: it has none. */
  readonly terminal?: true;
}

/**
 * `exec`: a process of the host. `sandbox`: namespaces of its own, with the host's programs and nothing else of the
 * host. `oci`: a container from an image.
 */
export const TASK_DRIVERS = ['exec', 'sandbox', 'oci'] as const;
export type TaskDriverName = (typeof TASK_DRIVERS)[number];

export const TASK_NETWORKS = ['none', 'host'] as const;
export type TaskNetwork = (typeof TASK_NETWORKS)[number];

export const TASK_USERS = ['agent', 'root'] as const;
export type TaskUser = (typeof TASK_USERS)[number];

/** Who serves a name of the task's own namespace, as the task finds it. */
export interface UsedName {
  /** `<port>.<group>.<job>` */
  readonly name: string;
  /** A variable with those of its start: `address:port`, with commas between. */
  readonly env?: string;
  /** A file in its working folder with those of now, one a line. */
  readonly file?: string;
  /** A signal when the file was written anew. */
  readonly onChange?: string;
}

export const CHANGE_SIGNALS = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGTERM'] as const;

export interface Artifact {
  /** `https://…`, `http://…`, `file:///…`; read by a host that does not have it yet. */
  readonly source: string;
  /** Of its bytes, 64 hex digits: its identity, whatever the source. */
  readonly sha256: string;
  /** It is an archive; the task gets its contents. */
  readonly unpack: boolean;
}

/** Limits that the host enforces where it can: its attributes `limits.*` say which. */
export interface TaskLimits {
  /** The kernel kills above this. Absent: the memory in `resources`. */
  readonly memoryMib?: number;
  /** Upper limit of CPU time. Absent: all that is idle. */
  readonly cpuMilli?: number;
  /** Processes and threads at once. Absent: the host's default. */
  readonly pids?: number;
  /** MiB a second from and to the host's disk. Absent: no limit. */
  readonly readMib?: number;
  readonly writeMib?: number;
}

/**
 * A health check of a task. The task is ready when all of its checks pass; one for `alive` ends the task as failed when it
 * does not, and the restart policy goes on from there.
 */
export interface Check {
  readonly probe: CheckProbe;
  readonly purpose: CheckPurpose;
  /** From the end of one try to the next. */
  readonly intervalMs: number;
  /** A try without an answer has failed after this. */
  readonly timeoutMs: number;
  /** Tries in a row that must succeed until it passes, and that must fail until it fails. */
  readonly successThreshold: number;
  readonly failureThreshold: number;
  /** From the start of the task: failures before do not count. */
  readonly startPeriodMs: number;
}

export const CHECK_PURPOSES = ['ready', 'alive'] as const;
export type CheckPurpose = (typeof CHECK_PURPOSES)[number];

/** `port`: a label of the group. `file`: a name in the task's working folder, whose being there says yes. */
export type CheckProbe =
  | { readonly kind: 'http'; readonly port: string; readonly path: string }
  | { readonly kind: 'tcp'; readonly port: string }
  | { readonly kind: 'command'; readonly command: readonly string[] }
  | { readonly kind: 'file'; readonly file: string };

export interface StopPolicy {
  readonly signal: string;
  readonly graceMs: number;
}

/** `attribute op value` about a host: `host.os == linux`, `host.memory >= 2Gi`. */
export interface Expression {
  readonly attribute: string;
  readonly operator: ExpressionOperator;
  /** Text for (in)equality; for the ordered operators a whole number in the attribute's unit. */
  readonly value: string;
  /** As in the job file, for explanations. */
  readonly text: string;
}

export const EXPRESSION_OPERATORS = ['==', '!=', '>=', '<=', '>', '<', 'in', 'exists'] as const;
export type ExpressionOperator = (typeof EXPRESSION_OPERATORS)[number];

/** A weight of 100 outweighs the whole range of the load score. */
export const WEIGHT_FULL = 100;

export interface Affinity {
  readonly expression: Expression;
  /** −100 to 100; negative repels. */
  readonly weight: number;
}

/** Distribution over the values of one host attribute. */
export interface Spread {
  readonly attribute: string;
  readonly weight: number;
  /** Percent of the group by value, at most 100 together; other values share the rest evenly. Absent: even. */
  readonly targets?: Readonly<Record<string, number>>;
}

/** Restarts on the same host, counted by the host alone. */
export interface RestartPolicy {
  readonly attempts: number;
  readonly windowMs: number;
  readonly delayMs: number;
  /** The delay doubles with each restart up to this, and is reset by a run that lasted as long. Absent: constant. */
  readonly delayMaxMs?: number;
  /** `failure`: after a non-zero end. `always`: after any end. `never`. */
  readonly on: 'failure' | 'always' | 'never';
}

/** Absent fields: `DEFAULT_UPDATE` in `slots/update-policy.ts`. */
export interface UpdatePolicy {
  /** How many allocations may be replaced at once, by an update or a drain. */
  readonly parallelism?: number;
  readonly strategy?: UpdateStrategy;
  /** How long after it was placed a new allocation may take until it counts as up. */
  readonly healthyDeadlineMs?: number;
  /** How long nothing may come of an update that is not paused. */
  readonly progressDeadlineMs?: number;
  /** So many allocations of the new version are started beside the old ones first; the rest waits for a promotion. */
  readonly canary?: number;
  /** Canaries that are up need nobody's word. */
  readonly autoPromote?: boolean;
  /** An update that fails is undone: the last good version is submitted again. */
  readonly autoRevert?: boolean;
}

/** `stop-first`: in the place of the old one. `start-first`: in a slot beyond `count`, for as long as the update lasts. */
export const UPDATE_STRATEGIES = ['stop-first', 'start-first'] as const;
export type UpdateStrategy = (typeof UPDATE_STRATEGIES)[number];

/**
 * Of two allocations of a slot that both run, after their host was lost and is back. `original`: the one that took nobody's place.
 * One of a newer version is kept in any case.
 */
export const RETURN_POLICIES = ['newest', 'oldest', 'original', 'longest-running'] as const;
export type ReturnPolicy = (typeof RETURN_POLICIES)[number];
export const DEFAULT_ON_RETURN: ReturnPolicy = 'newest';

/** New allocations on other hosts, after the local restarts are used up; `attempts` null: no limit. */
export interface ReschedulePolicy {
  readonly attempts: number | null;
  readonly delayMs: number;
  readonly delayMaxMs: number;
  /** Replace allocations on a host that was declared lost. Opt-in (S0.1). */
  readonly onHostLost: boolean;
  /** Which one is kept when a lost host is back and still runs what was replaced. Absent: the newest. */
  readonly onReturn?: ReturnPolicy;
  /** False: neither a drain nor a label of its host moves it; at a drain's deadline it is stopped, and begins again on that host. Absent: it moves. */
  readonly onDrain?: boolean;
  /** Somebody asks for it: `move`, `rebalance`. Absent: as a drain does. */
  readonly onRequest?: boolean;
}

/**
 * A job in the store. The submission that replaces version n writes `versions/<ns>/<job>/<n>`; until then this record is
 * the only one of version n.
 */
export interface JobRecord {
  readonly job: Job;
  /** Counts the accepted specs of this job, from 1. */
  readonly version: number;
  readonly desired: 'run' | 'stop';
  readonly submittedAtMs: number;
  /** What its user said about the update to this version. */
  readonly rollout?: RolloutWish;
  /** Allocations that are to run on other hosts, as a user asked. Absent: none. Another version begins without them. */
  readonly moves?: readonly Move[];
  /** The earlier version whose spec this is again. */
  readonly restores?: number;
  /** Its user deleted it: it is stopped, and its records go when its hosts have released everything. */
  readonly deleted?: true;
  /** W3C trace context of the submission, so that every scheduler's work joins one trace; absent: none. */
  readonly traceparent?: string;
}

/** So many of one job stand in its record at once. */
export const JOB_MOVES_MAX = 100;

/** One allocation is to run on another host. It is done when there is no such allocation any more. */
export interface Move {
  readonly allocation: string;
  /** The host; the move waits for as long as that would not take it. Absent: any other one. */
  readonly to?: string;
  readonly reason: string;
  readonly by: string;
  /** What has not begun by then stays. */
  readonly untilMs: number;
}

export interface RolloutWish {
  /** Nothing more is replaced until it is resumed. */
  readonly paused?: true;
  /** The canaries will do. */
  readonly promoted?: true;
  /** When the last of these was said: the time without progress counts from there. */
  readonly atMs: number;
}

/** How many slots the group may ever have at once, but for those of an update. */
export function slotsMaxOf({ count, countMax = count }: Pick<Group, 'count' | 'countMax'>): number {
  return Math.max(count, countMax);
}

export function schedulerKindOf(job: Job): SchedulerKind {
  return job.scheduler === 'auto' ? job.type : job.scheduler;
}
