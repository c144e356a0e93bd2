import { z } from 'zod';
import type { Group, Job, JobRecord, Task } from '../../core/cell/job.ts';
import {
  CHECK_PURPOSES,
  EXPRESSION_OPERATORS,
  JOB_TYPES,
  RETURN_POLICIES,
  SCHEDULER_KINDS,
  TASK_DRIVERS,
  TASK_NETWORKS,
  TASK_USERS,
  UPDATE_STRATEGIES,
} from '../../core/cell/job.ts';
import { VOLUME_ACCESS, VOLUME_ON_LOSS } from '../../core/cell/volume.ts';
import type { Codec } from '../wire.ts';
import { counts, resources, schemaCodec, whole } from '../codec/codec.ts';

const expression = z.looseObject({
  attribute: z.string(),
  operator: z.enum(EXPRESSION_OPERATORS),
  value: z.string(),
  text: z.string(),
});

const weight = z.int().min(-100).max(100);

const artifact = z.looseObject({ source: z.string(), sha256: z.string(), unpack: z.boolean() });

const probe = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('http'), port: z.string(), path: z.string() }),
  z.looseObject({ kind: z.literal('tcp'), port: z.string() }),
  z.looseObject({ kind: z.literal('command'), command: z.array(z.string()).min(1) }),
  z.looseObject({ kind: z.literal('file'), file: z.string() }),
]);

const check = z.looseObject({
  probe,
  purpose: z.enum(CHECK_PURPOSES),
  intervalMs: whole,
  timeoutMs: whole,
  successThreshold: whole,
  failureThreshold: whole,
  startPeriodMs: whole,
});

const task = z.looseObject({
  name: z.string(),
  command: z.array(z.string()).min(1),
  env: z.record(z.string(), z.string()),
  resources,
  gpu: z.looseObject({ count: whole, milliEach: whole, models: z.array(z.string()) }).nullable(),
  shared: z.exactOptional(counts),
  driver: z.exactOptional(z.enum(TASK_DRIVERS)),
  network: z.exactOptional(z.enum(TASK_NETWORKS)),
  user: z.exactOptional(z.enum(TASK_USERS)),
  endpoints: z.exactOptional(
    z.array(
      z.looseObject({
        name: z.string(),
        env: z.exactOptional(z.string()),
        file: z.exactOptional(z.string()),
        onChange: z.exactOptional(z.string()),
      }),
    ),
  ),
  secrets: z.exactOptional(z.array(z.string())),
  image: z.exactOptional(artifact),
  artifacts: z.exactOptional(z.record(z.string(), artifact)),
  limits: z.exactOptional(
    z.looseObject({
      memoryMib: z.exactOptional(whole),
      cpuMilli: z.exactOptional(whole),
      pids: z.exactOptional(whole),
      readMib: z.exactOptional(whole),
      writeMib: z.exactOptional(whole),
    }),
  ),
  checks: z.exactOptional(z.record(z.string(), check)),
  mounts: z.exactOptional(
    z.record(
      z.string(),
      z.looseObject({ path: z.exactOptional(z.string()), readOnly: z.exactOptional(z.literal(true)) }),
    ),
  ),
  stop: z.looseObject({ signal: z.string(), graceMs: whole }),
  sidecar: z.boolean(),
  stdin: z.exactOptional(z.literal(true)),
  terminal: z.exactOptional(z.literal(true)),
});

const group = z.looseObject({
  name: z.string(),
  count: whole,
  countMax: z.exactOptional(whole),
  parallelism: whole.nullable(),
  gang: z.boolean(),
  ports: counts,
  constraints: z.array(expression),
  affinities: z.array(z.looseObject({ expression, weight })),
  spread: z.array(
    z.looseObject({ attribute: z.string(), weight, targets: z.exactOptional(z.record(z.string(), whole)) }),
  ),
  distinct: z.array(z.string()),
  class: z.exactOptional(z.string()),
  avoid: z.exactOptional(z.array(z.looseObject({ class: z.string(), over: z.exactOptional(z.string()) }))),
  near: z.exactOptional(
    z.array(z.looseObject({ class: z.string(), over: z.exactOptional(z.string()), weight })),
  ),
  tasks: z.record(z.string(), task),
  restart: z.looseObject({
    attempts: whole,
    windowMs: whole,
    delayMs: whole,
    delayMaxMs: z.exactOptional(whole),
    on: z.enum(['failure', 'always', 'never']),
  }),
  reschedule: z.looseObject({
    attempts: whole.nullable(),
    delayMs: whole,
    delayMaxMs: whole,
    onHostLost: z.boolean(),
    onReturn: z.exactOptional(z.enum(RETURN_POLICIES)),
    onDrain: z.exactOptional(z.boolean()),
    onRequest: z.exactOptional(z.boolean()),
  }),
  deadlineMs: whole.nullable(),
  stopAfterDisconnectMs: z.exactOptional(whole),
  fences: z.exactOptional(z.array(z.string())),
  shutdownDelayMs: z.exactOptional(whole),
  minHealthyMs: z.exactOptional(whole),
  update: z.exactOptional(
    z.looseObject({
      parallelism: z.exactOptional(whole),
      strategy: z.exactOptional(z.enum(UPDATE_STRATEGIES)),
      healthyDeadlineMs: z.exactOptional(whole),
      progressDeadlineMs: z.exactOptional(whole),
      canary: z.exactOptional(whole),
      autoPromote: z.exactOptional(z.boolean()),
      autoRevert: z.exactOptional(z.boolean()),
    }),
  ),
  waitMaxMs: whole.nullable(),
  volumes: z.exactOptional(
    z.record(
      z.string(),
      z.looseObject({
        claim: z.exactOptional(z.string()),
        source: z.exactOptional(z.string()),
        access: z.enum(VOLUME_ACCESS),
        readOnly: z.exactOptional(z.literal(true)),
        onLoss: z.enum(VOLUME_ON_LOSS),
        driver: z.exactOptional(z.string()),
        sizeMib: z.exactOptional(whole),
        forceDetach: z.exactOptional(z.literal(true)),
      }),
    ),
  ),
});

const job: z.ZodType<Job> = z.looseObject({
  namespace: z.string(),
  name: z.string(),
  type: z.enum(JOB_TYPES),
  precedence: z.int().min(0).max(100),
  scheduler: z.enum([...SCHEDULER_KINDS, 'auto']),
  labels: z.record(z.string(), z.string()),
  groups: z.record(z.string(), group),
  restartedAtMs: z.exactOptional(whole),
  oneOff: z.boolean(),
});

export const jobRecordSchema = z.looseObject({
  job,
  version: whole.min(1),
  desired: z.enum(['run', 'stop']),
  submittedAtMs: whole,
  rollout: z.exactOptional(
    z.looseObject({
      paused: z.exactOptional(z.literal(true)),
      promoted: z.exactOptional(z.literal(true)),
      atMs: whole,
    }),
  ),
  moves: z.exactOptional(
    z.array(
      z.looseObject({
        ...{ allocation: z.string(), to: z.exactOptional(z.string()), reason: z.string() },
        ...{ by: z.string(), untilMs: whole },
      }),
    ),
  ),
  restores: z.exactOptional(whole),
  deleted: z.exactOptional(z.literal(true)),
  traceparent: z.exactOptional(z.string()),
});

const plain = schemaCodec<JobRecord>('job', jobRecordSchema);

/** A job as it was accepted: canonical, without short forms. */
export const jobCodec: Codec<JobRecord> = {
  encode: (record) => plain.encode(record),
  decode: (text) => fromLast(text) ?? remember(text, plain.decode(text)),
};

/**
 * Jobs come in long lists that differ by name only. So the last record that was read is kept with its text, cut where the
 * name and the time of submission stand: the next one with the same pieces shares its parts except for the names.
 */
interface Remembered {
  /** Before the name, and after each of the places where it stands; the last piece ends where the time begins. */
  readonly pieces: readonly string[];
  /** After the time of submission. */
  readonly end: string;
  readonly record: JobRecord;
  readonly group: Group;
  readonly task: Task;
}

let last: Remembered | null = null;

/** In the short form the name stands once for the job, and twice each for its group and its task. */
const NAMES = 5;
/** `,"name":"` of the job comes right after its namespace. */
const NAME_FIRST = /^\{"v":1,"job":\{"namespace":"[a-z0-9-]*","name":"([a-z0-9-]+)","type"/;
const NAME = /^[a-z0-9-]+$/;
const SUBMITTED = /,"submittedAtMs":(?=\d{1,15}(\}|,"traceparent":"[0-9a-f-]*"\})$)/;
const TIME = /^(0|[1-9]\d{0,14})$/;

function fromLast(text: string): JobRecord | null {
  if (last === null) return null;
  const { pieces, end, record, group, task } = last;
  const nameAt = pieces[0]?.length ?? 0;
  const name = text.slice(nameAt, text.indexOf('"', nameAt));
  if (!NAME.test(name)) return null;
  // One comparison of the whole: `startsWith` goes character by character and takes ten times as long.
  const upToTime = pieces.join(name);
  if (text.slice(0, upToTime.length) !== upToTime) return null;
  const rest = text.slice(upToTime.length);
  const time = rest.slice(0, rest.length - end.length);
  if (!TIME.test(time) || rest !== time + end) return null;
  const renamed: Group = { ...group, name, tasks: { [name]: { ...task, name } } };
  return {
    ...record,
    job: { ...record.job, name, groups: { [name]: renamed } },
    submittedAtMs: Number(time),
  };
}

function remember(text: string, record: JobRecord): JobRecord {
  const { name, groups } = record.job;
  const group = groups[name];
  const task = group?.tasks[name];
  if (group?.name !== name || task?.name !== name) return record;
  if (Object.keys(groups).length !== 1 || Object.keys(group.tasks).length !== 1) return record;
  const submitted = SUBMITTED.exec(text);
  if (submitted === null || NAME_FIRST.exec(text)?.[1] !== name) return record;
  const pieces = text.slice(0, submitted.index + submitted[0].length).split(name);
  // Where the name is also a part of another text, its places are ambiguous.
  if (pieces.length === NAMES + 1) last = { pieces, end: submitted[1] ?? '', record, group, task };
  return record;
}
