import { z } from 'zod';
import type { Job, JobRecord } from '../core/job.ts';
import { EXPRESSION_OPERATORS, JOB_TYPES, SCHEDULER_KINDS } from '../core/job.ts';
import { counts, resources, schemaCodec, whole } from './schema-codec.ts';

const expression = z.looseObject({
  attribute: z.string(),
  operator: z.enum(EXPRESSION_OPERATORS),
  value: z.string(),
  text: z.string(),
});

const weight = z.int().min(-100).max(100);

const task = z.looseObject({
  name: z.string(),
  command: z.array(z.string()).min(1),
  env: z.record(z.string(), z.string()),
  resources,
  gpu: z.looseObject({ count: whole, milliEach: whole, models: z.array(z.string()) }).nullable(),
  limits: z.exactOptional(
    z.looseObject({
      memoryMib: z.exactOptional(whole),
      cpuMilli: z.exactOptional(whole),
      pids: z.exactOptional(whole),
      readMib: z.exactOptional(whole),
      writeMib: z.exactOptional(whole),
    }),
  ),
  stop: z.looseObject({ signal: z.string(), graceMs: whole }),
  sidecar: z.boolean(),
});

const group = z.looseObject({
  name: z.string(),
  count: whole,
  parallelism: whole.nullable(),
  gang: z.boolean(),
  ports: counts,
  constraints: z.array(expression),
  affinities: z.array(z.looseObject({ expression, weight })),
  spread: z.array(z.looseObject({ attribute: z.string(), weight })),
  distinct: z.array(z.string()),
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
  }),
  deadlineMs: whole.nullable(),
  waitMaxMs: whole.nullable(),
});

const job: z.ZodType<Job> = z.looseObject({
  namespace: z.string(),
  name: z.string(),
  type: z.enum(JOB_TYPES),
  precedence: z.int().min(0).max(100),
  scheduler: z.enum([...SCHEDULER_KINDS, 'auto']),
  labels: z.record(z.string(), z.string()),
  groups: z.record(z.string(), group),
  oneOff: z.boolean(),
});

export const jobRecordSchema = z.looseObject({
  job,
  version: whole.min(1),
  desired: z.enum(['run', 'stop']),
  submittedAtMs: whole,
  traceparent: z.exactOptional(z.string()),
});

/** A job as it was accepted: canonical, so nothing is optional and nothing has a short form. */
export const jobCodec = schemaCodec<JobRecord>('job', jobRecordSchema);
