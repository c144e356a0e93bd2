import { z } from 'zod';
import { ROLE_KINDS } from '../../../core/cell/cell.ts';
import { ELIGIBILITY } from '../../../core/host/host.ts';
import { VOLUME_ACCESS, VOLUME_ON_LOSS } from '../../../core/cell/volume.ts';
import type { AlarmsAnswer, CellStatus, ScrapeTargets, SharedStatus } from '../../api/cell-api.ts';
import type {
  CellEvent,
  HostListAnswer,
  HostStatus,
  SchedulerListAnswer,
  VersionAnswer,
} from '../../api/monitor-api.ts';
import type { NameAnswer, NameFrame, NameListAnswer } from '../../api/names-api.ts';
import type { PausesAnswer } from '../../api/pause-api.ts';
import type { QuotaListAnswer, QuotaStatus } from '../../api/quota-api.ts';
import type { ReportFrame } from '../../api/report-frames.ts';
import type { SchedulerStatus } from '../../api/scheduler-api.ts';
import type { VolumeListAnswer } from '../../api/volume-api.ts';
import { resources, whole } from '../../codec/codec.ts';
import { BUDGETS } from '../../../core/quota/budgets.ts';
import { bucketRule } from '../../budgets/budget-records.ts';
import type { BudgetsAnswer, DomainBudget } from '../../budgets/budgets.ts';
import { remedyPolicyCodec, verdictCodec } from '../../verdicts/verdict-records.ts';
import { ALARM_KINDS } from '../../api/cell-api.ts';
import type { VerdictsAnswer } from '../../verdicts/verdicts.ts';
import { drainWindow, eligibilityCodec, hostCodec, pauseCodec } from '../../records/records.ts';
import { maybe, report, next, text, texts } from './parts.ts';

export const hostStatus: z.ZodType<HostStatus> = z.object({
  ...{ host: hostCodec.schema, eligibility: eligibilityCodec.schema.nullable(), used: resources },
  ...{ gpuUsedMilli: whole, allocations: whole, alive: z.boolean(), asOfMs: whole.nullable() },
  ...{ staleSinceMs: whole.nullable(), verdictAtMs: maybe(whole) },
});

export const hostListAnswer: z.ZodType<HostListAnswer> = z.object({
  hosts: z.array(hostStatus),
  incomplete: z.boolean(),
  next,
});

const schedulerStatus: z.ZodType<SchedulerStatus> = z.object({
  ...{ id: text, kind: text, policy: text, jobsOwned: whole, pending: whole, decisions: whole },
  ...{ committed: whole, rebased: whole, conflicted: whole, unknownResolved: whole, ticketsRefused: whole },
  ...{ startsRefused: whole, busyFraction: z.number(), commitP50Ms: z.number().nullable() },
  ...{ commitP99Ms: z.number().nullable(), storeTrouble: text.nullable() },
});

export const schedulerListAnswer: z.ZodType<SchedulerListAnswer> = z.object({
  schedulers: z.array(schedulerStatus),
  unreachable: texts,
});

export const sharedStatus: z.ZodType<SharedStatus> = z.object({
  ...{ name: text, unit: text, by: text.nullable(), capacity: whole, isDefined: z.boolean() },
  pools: z.array(z.object({ value: text, capacity: whole, used: whole, hosts: whole })),
});

const keptCount = z.object({ count: whole, most: whole, forMs: whole.nullable() });

export const cellStatus: z.ZodType<CellStatus> = z.object({
  ...{ hosts: z.object({ known: whole, alive: whole }), allocations: whole, jobs: whole },
  store: z
    .object({
      ...{ revision: whole, compactedRevision: whole, databaseBytes: whole, inUseBytes: whole },
      ...{ quotaBytes: whole, isFull: z.boolean() },
    })
    .nullable(),
  shared: z.array(sharedStatus),
  kept: maybe(
    z.object({
      ...{ runs: keptCount, jobs: keptCount },
      versions: z.object({ count: whole, mostEach: whole.nullable(), forMs: whole.nullable() }),
      outcomes: z.object({ count: whole, mostEach: whole.nullable() }),
    }),
  ),
  monitors: maybe(z.array(z.object({ id: text, address: text }))),
  storeAwaySinceMs: maybe(whole),
  drains: maybe(z.array(z.object({ host: text, state: z.enum(ELIGIBILITY), window: drainWindow }))),
});

export const scrapeTargets: z.ZodType<ScrapeTargets> = z.array(
  z.object({
    targets: texts,
    labels: z.object({ role: z.enum(ROLE_KINDS), id: text, __metrics_path__: maybe(text) }),
  }),
);

const limit = whole.nullable();

export const quotaStatus: z.ZodType<QuotaStatus> = z.object({
  ...{ namespace: text, cpuMilli: limit, memoryMib: limit, gpuMilli: limit, allocations: limit },
  used: z.object({ cpuMilli: whole, memoryMib: whole, gpuMilli: whole, allocations: whole }),
  isReadable: z.boolean(),
});

export const quotaListAnswer: z.ZodType<QuotaListAnswer> = z.object({ quotas: z.array(quotaStatus) });

export const pausesAnswer: z.ZodType<PausesAnswer> = z.object({ pauses: z.array(pauseCodec.schema) });

export const alarmsAnswer: z.ZodType<AlarmsAnswer> = z.object({
  alarms: z.array(z.object({ kind: z.enum(ALARM_KINDS), subject: text, sinceMs: z.number(), detail: text })),
  afterMs: z.number(),
});

export const verdictsAnswer: z.ZodType<VerdictsAnswer> = z.object({ verdicts: z.array(verdictCodec.schema) });

const domainBudget: z.ZodType<DomainBudget> = z.object({
  ...{ attribute: text, burst: whole, perHour: whole },
  domains: z.array(z.object({ value: text, left: whole })),
});

export const budgetsAnswer: z.ZodType<BudgetsAnswer> = z.object({
  budgets: z.array(
    z.object({
      ...{ kind: z.enum(BUDGETS), rule: bucketRule.nullable(), left: z.number().nullable() },
      per: z.exactOptional(domainBudget),
    }),
  ),
});

export const remedyPolicy = remedyPolicyCodec.schema;

export const volumeListAnswer: z.ZodType<VolumeListAnswer> = z.object({
  volumes: z.array(
    z.object({
      ...{ namespace: text, claim: text, host: text, isThere: z.boolean(), source: maybe(text) },
      ...{ access: z.enum(VOLUME_ACCESS), onLoss: z.enum(VOLUME_ON_LOSS), job: text, createdAtMs: whole },
      ...{ holders: texts, left: z.array(z.object({ host: text, id: text, used: whole })) },
      ...{ isDeleting: z.boolean(), driver: maybe(text), fenced: maybe(z.literal(true)) },
    }),
  ),
});

const endpoints = z.array(
  z.object({
    ...{ allocation: text, host: text, index: whole, jobVersion: whole, address: text, port: whole },
    staleSinceMs: maybe(whole),
  }),
);

const name = { name: text, namespace: text, job: text, group: text, port: text, endpoints };

export const nameAnswer: z.ZodType<NameAnswer> = z.object({ ...name, incomplete: z.boolean() });

export const nameListAnswer: z.ZodType<NameListAnswer> = z.object({
  names: z.array(z.object(name)),
  incomplete: z.boolean(),
});

const view = z.object({
  ...{ kind: z.literal('view'), complete: z.boolean(), synced: z.boolean() },
  silenceMs: z.exactOptional(z.number()),
});

export const nameFrame: z.ZodType<NameFrame> = z.union([
  z.object({ kind: z.literal('name'), name: text, known: z.boolean(), endpoints }),
  view,
]);

export const cellEvent: z.ZodType<CellEvent> = z.object({
  ...{ id: text, atMs: z.number(), kind: text, source: text, namespace: maybe(text), job: maybe(text) },
  ...{ allocation: maybe(text), slot: maybe(text), host: maybe(text), detail: text },
  ...{ readRevision: maybe(whole), foundRevision: maybe(whole) },
  missed: maybe(z.record(z.string(), whole)),
});

const head = { host: text, incarnation: whole, seq: whole };

export const reportFrame: z.ZodType<ReportFrame> = z.union([
  z.object({ kind: z.literal('full'), ...head, allocations: z.array(report) }),
  z.object({ kind: z.literal('part'), ...head, allocations: z.array(report) }),
  z.object({ kind: z.literal('change'), ...head, allocation: report }),
  z.object({ kind: z.literal('gone'), ...head, id: text }),
  z.object({ kind: z.literal('beat'), ...head, atMs: maybe(z.number()) }),
  z.object({ kind: z.literal('silent'), host: text, silentMs: z.number() }),
  z.object({ kind: z.literal('left'), host: text }),
  view,
]);

export const versionAnswer: z.ZodType<VersionAnswer> = z.object({
  ...{ version: text, role: text, id: text, startedAtMs: whole },
});
