import type { GpuRequest, Resources } from './resources.ts';

/**
 * A job in canonical form: every default filled in, every unit an integer. `wire/job-file.ts` makes one from what a
 * person wrote; nothing below this type knows of short forms or spellings.
 */
export interface Job {
  readonly namespace: string;
  readonly name: string;
  readonly type: JobType;
  /** Precedence, 0 to 100: who may take whose place, cell-wide. */
  readonly precedence: number;
  /** Kind of scheduler that may work on it; `auto` follows the type. */
  readonly scheduler: SchedulerKind | 'auto';
  readonly labels: Readonly<Record<string, string>>;
  readonly groups: Readonly<Record<string, Group>>;
  /** Made by a one-off run: shown as such, and gone after its retention. */
  readonly oneOff: boolean;
}

export const JOB_TYPES = ['service', 'batch', 'system'] as const;
export type JobType = (typeof JOB_TYPES)[number];

export const SCHEDULER_KINDS = ['service', 'batch', 'system'] as const;
export type SchedulerKind = (typeof SCHEDULER_KINDS)[number];

/** Tasks that share one allocation: placed together on one host, `count` times. */
export interface Group {
  readonly name: string;
  /** How many allocations; ignored by `system` jobs, which have one per matching host. */
  readonly count: number;
  /** How many of them may run at once; null: all. */
  readonly parallelism: number | null;
  /** All of `count` in one commit, or none. */
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
   * Stopped, with the reason `disconnected`, when its host has not heard of the cell for so long, whether an agent is
   * there or not (I16). Absent: it runs on.
   */
  readonly stopAfterDisconnectMs?: number;
  /** How long the group may wait for a place before the job fails as unplaceable; null: for ever. */
  readonly waitMaxMs: number | null;
}

export interface Task {
  readonly name: string;
  /** Absolute path or a name that the host looks up in its own `PATH`; then the arguments. Never a shell line. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly resources: Resources;
  readonly gpu: GpuRequest | null;
  /** Amounts of what operators say that hosts share, by name (see shared-resource.ts); absent: none. */
  readonly shared?: Readonly<Record<string, number>>;
  /** What it may use at most; absent: see each of its fields. */
  readonly limits?: TaskLimits;
  /** Absent: `exec`. */
  readonly driver?: TaskDriverName;
  /** Whose network a task in namespaces of its own has; absent: none but loopback. A plain process has the host's. */
  readonly network?: TaskNetwork;
  /** An archive of an image, for the driver `oci`. */
  readonly image?: Artifact;
  /** Files that its host brings before it starts, by name; read-only for it, or a copy of its own. */
  readonly artifacts?: Readonly<Record<string, Artifact>>;
  readonly stop: StopPolicy;
  /** A sidecar is stopped when all other tasks of its group have ended, and does not decide the outcome. */
  readonly sidecar: boolean;
  /** It reads what attached clients write. Absent: it reads from nothing. */
  readonly stdin?: true;
}

/**
 * How a task is run. `exec`: a process of the host. `sandbox`: in namespaces of its own, with the host's programs and
 * nothing else of it. `oci`: a container from an image.
 */
export const TASK_DRIVERS = ['exec', 'sandbox', 'oci'] as const;
export type TaskDriverName = (typeof TASK_DRIVERS)[number];

export const TASK_NETWORKS = ['none', 'host'] as const;
export type TaskNetwork = (typeof TASK_NETWORKS)[number];

export interface Artifact {
  /** `https://…`, `http://…`, `file:///…`; only for a host that has it not yet. */
  readonly source: string;
  /** Of its bytes, 64 hex digits: what it is, wherever it came from. */
  readonly sha256: string;
  /** It is an archive, and the task gets what is in it. */
  readonly unpack: boolean;
}

/** Bounds that the host holds the task to, where it can: its attributes `limits.*` say which. */
export interface TaskLimits {
  /** Beyond this the kernel kills. Absent: what it asks for in `resources`. */
  readonly memoryMib?: number;
  /** CPU time that it never gets more of. Absent: all that nobody else wants. */
  readonly cpuMilli?: number;
  /** Processes and threads at once. Absent: the host's own bound. */
  readonly pids?: number;
  /** MiB a second from and to the host's disk. Absent: no bound. */
  readonly readMib?: number;
  readonly writeMib?: number;
}

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
  /** As the author wrote it, for explanations. */
  readonly text: string;
}

export const EXPRESSION_OPERATORS = ['==', '!=', '>=', '<=', '>', '<', 'in', 'exists'] as const;
export type ExpressionOperator = (typeof EXPRESSION_OPERATORS)[number];

/** A weight of 100 outweighs the whole range of the load. */
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
  /** Percent of the group for each value, 100 together at the most; values not named share the rest evenly. Absent: even. */
  readonly targets?: Readonly<Record<string, number>>;
}

/** Restarts on the same host, counted by the host alone. */
export interface RestartPolicy {
  readonly attempts: number;
  readonly windowMs: number;
  readonly delayMs: number;
  /** The delay doubles with each restart up to this, and begins anew after a run that lasted as long; absent: it stays. */
  readonly delayMaxMs?: number;
  /** `failure`: after a non-zero end. `always`: after any end. `never`. */
  readonly on: 'failure' | 'always' | 'never';
}

/** New allocations on other hosts, after the local restarts are used up; `attempts` null: no limit. */
export interface ReschedulePolicy {
  readonly attempts: number | null;
  readonly delayMs: number;
  readonly delayMaxMs: number;
  /** Replace what runs on a host that was declared lost. Opt-in (S0.1). */
  readonly onHostLost: boolean;
}

/** A job as it lies in the store: the spec, its version, and whether it should be there. */
export interface JobRecord {
  readonly job: Job;
  /** Counts the accepted specs of this job, from 1. */
  readonly version: number;
  readonly desired: 'run' | 'stop';
  readonly submittedAtMs: number;
  /** W3C trace context of the submission, so that every scheduler's work joins one trace; absent when none came. */
  readonly traceparent?: string;
}

/** The kind of scheduler that works on the job. */
export function schedulerKindOf(job: Job): SchedulerKind {
  return job.scheduler === 'auto' ? job.type : job.scheduler;
}
