import { z } from 'zod';
import { CHECKS } from '../../../core/placement/filters.ts';
import { DIMENSIONS } from '../../../core/quota/amounts.ts';
import type {
  AllocationListAnswer,
  AllocationStatus,
  BulkAnswer,
  HistoryAnswer,
  JobListAnswer,
  JobStatus,
  JobSummary,
  RunAnswer,
  RunExit,
  SubmitAnswer,
} from '../../api/monitor-api.ts';
import { JOB_PHASES } from '../../api/monitor-api.ts';
import type { PlanAnswer } from '../../plan/plan.ts';
import type { Problem } from '../../api/problem.ts';
import type { Why } from '../../api/scheduler-api.ts';
import type { CellUsage } from '../../api/usage-api.ts';
import type { SignalAnswer } from '../../api/attach-frames.ts';
import type { CommandStatus } from '../../api/exec-api.ts';
import { whole } from '../../codec/codec.ts';
import { jobRecordSchema } from '../../records/job-codec.ts';
import { outcomeCodec, rolloutCodec } from '../../records/records.ts';
import { allocation, exit, maybe, report, restarts, next, text, texts, yes } from './parts.ts';

export const problem: z.ZodType<Problem> = z.object({
  status: z.int(),
  code: text.meta({ description: 'stable, for programs' }),
  detail: text.meta({ description: 'one sentence for people' }),
  hint: maybe(text.meta({ description: 'what to do about it' })),
  path: maybe(text.meta({ description: 'the place in the request that is wrong' })),
  extra: maybe(z.record(text, z.unknown()).meta({ description: 'further facts, by code' })),
});

export const submitAnswer: z.ZodType<SubmitAnswer> = z.object({
  ...{ namespace: text, name: text, version: whole, changed: z.boolean() },
});

export const bulkAnswer: z.ZodType<BulkAnswer> = z.object({
  results: z.array(z.union([submitAnswer, z.object({ problem })])),
});

export const jobSummary: z.ZodType<JobSummary> = z.object({
  ...{ namespace: text, name: text, type: text, precedence: whole, version: whole },
  ...{ desired: z.enum(['run', 'stop']), owner: text.nullable(), submittedAtMs: whole, oneOff: z.boolean() },
  ...{ deleted: maybe(yes), phase: z.enum(JOB_PHASES), endedAtMs: maybe(whole), restarts },
  counts: z.object({
    desiredMax: maybe(whole.meta({ description: 'of an elastic job: what it may grow to' })),
    ...{ desired: whole, placed: whole, running: whole, ready: maybe(whole), complete: whole, failed: whole },
  }),
});

export const jobListAnswer: z.ZodType<JobListAnswer> = z.object({
  jobs: z.array(jobSummary),
  incomplete: z.boolean(),
  next,
});

export const allocationStatus: z.ZodType<AllocationStatus> = z.object({
  ...{ name: text, allocation, report: report.nullable(), restarts, asOfMs: whole.nullable() },
  stale: z.boolean(),
});

export const allocationListAnswer: z.ZodType<AllocationListAnswer> = z.object({
  allocations: z.array(allocationStatus),
  incomplete: z.boolean(),
  next,
});

export const jobStatus: z.ZodType<JobStatus> = z.object({
  summary: jobSummary,
  record: jobRecordSchema,
  allocations: z.array(allocationStatus),
  outcomes: z.array(outcomeCodec.schema),
  incomplete: maybe(z.boolean()),
  rollout: maybe(z.object({ record: rolloutCodec.schema.nullable(), paused: z.boolean(), outdated: whole })),
  storeAwaySinceMs: maybe(whole),
  silentHosts: maybe(
    z.array(
      z.object({
        ...{ host: text, allocations: whole, sinceMs: whole.nullable(), verdictAtMs: whole.nullable() },
        detail: text,
      }),
    ),
  ),
});

export const historyAnswer: z.ZodType<HistoryAnswer> = z.object({
  versions: z.array(
    z.object({
      ...{ version: whole, submittedAtMs: whole, current: z.boolean(), good: z.boolean() },
      ...{ restores: whole.nullable(), job: jobRecordSchema.shape.job },
    }),
  ),
});

const fits = z.object({ now: whole, pending: whole, whenEmpty: whole, count: whole });

const refusal = z.object({
  ...{ host: text, check: text.meta({ description: `one of ${CHECKS.join(', ')}` }), detail: text },
  short: maybe(z.object({ dimension: text, needed: whole, available: whole })),
});

export const why: z.ZodType<Why> = z.object({
  ...{ namespace: text, job: text, scheduler: text, summary: text },
  groups: z.array(
    z.object({
      ...{ group: text, pending: whole, tries: whole, conflicts: whole, nextTryMs: z.number().nullable() },
      ...{ stage: text, detail: text, hosts: z.array(refusal), hostsTotal: whole },
      refusals: z.array(z.object({ check: text, hosts: whole })),
      ...{ gang: maybe(z.boolean()), fits: maybe(fits) },
    }),
  ),
});

const planAct = z.object({
  ...{
    act: z.enum(['start', 'stop', 'preempt', 'stay']),
    namespace: text,
    job: text,
    slot: text,
    host: text,
  },
  ...{ from: maybe(text), allocation: maybe(text), cause: maybe(text) },
});

const planWait = z.object({
  ...{ group: text, waiting: whole, waitingBefore: whole, stage: text, detail: text },
});

export const planAnswer: z.ZodType<PlanAnswer> = z.object({
  jobs: z.array(
    z.object({
      ...{ namespace: text, job: text, version: whole, scheduler: text },
      ...{ acts: z.array(planAct), actsLeftOut: whole, waits: z.array(planWait) },
      finished: maybe(z.enum(JOB_PHASES)),
    }),
  ),
  versionBefore: maybe(whole.nullable()),
  ...{ jobsHidden: whole, unanswered: texts, isCut: z.boolean() },
  quotas: maybe(
    z.array(
      z.object({
        ...{
          namespace: text,
          dimension: z.enum(DIMENSIONS),
          limit: z.number(),
          used: z.number(),
          wanted: z.number(),
        },
      }),
    ),
  ),
  moves: maybe(
    z.array(
      z.object({
        ...{ namespace: text, job: text, slot: text, allocation: text, from: text, to: text },
        ...{ gain: z.number(), reason: text },
      }),
    ),
  ),
  movesHidden: maybe(whole),
});

export const runAnswer: z.ZodType<RunAnswer> = z.object({
  namespace: text,
  job: text,
  created: z.boolean(),
});

export const runExit: z.ZodType<RunExit> = z.object({
  ...{ state: text, exit: exit.nullable(), reason: text, host: text.nullable(), allocation: text.nullable() },
});

const measured = z.number().min(0).nullable();

export const cellUsage: z.ZodType<CellUsage> = z.object({
  hosts: z.array(
    z.object({
      ...{ host: text, atMs: z.number() },
      allocations: z.array(z.object({ id: text, cpuMs: measured, memoryBytes: measured, pids: measured })),
    }),
  ),
  unreachable: texts,
});

export const commandStatus: z.ZodType<CommandStatus> = z.object({
  ...{ commandId: text, task: text, state: z.enum(['starting', 'running', 'ended']) },
  ...{ exit: maybe(exit), execErrno: maybe(z.int()) },
});

export const signalAnswer: z.ZodType<SignalAnswer> = z.object({
  commandId: text,
  errno: z.int().nullable().meta({ description: '0: sent. null: its target had ended' }),
});
