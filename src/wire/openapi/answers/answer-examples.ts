import type { Allocation } from '../../../core/cell/allocation.ts';
import type { Job } from '../../../core/cell/job.ts';
import { NO_RESOURCES, NO_SCALARS } from '../../../core/cell/resources.ts';
import type { AllocationReport } from '../../../core/host/report.ts';
import { NO_RESTARTS } from '../../../core/slots/restarts.ts';
import type { AuditAnswer } from '../../access/audit-api.ts';
import type { OpenIdListAnswer, OpenIdStatus } from '../../access/openid-api.ts';
import type { HostKeyAnswer, SecretListAnswer } from '../../access/secret-api.ts';
import type { NewToken, TokenListAnswer, TokenStatus, WhoAmI } from '../../access/token-api.ts';
import type { SignalAnswer } from '../../api/attach-frames.ts';
import type { AlarmsAnswer, CellStatus, ScrapeTargets, SharedStatus } from '../../api/cell-api.ts';
import type { CommandStatus } from '../../api/exec-api.ts';
import type * as monitor from '../../api/monitor-api.ts';
import type { NameAnswer, NameFrame, NameListAnswer } from '../../api/names-api.ts';
import { DEFAULT_REMEDIES } from '../../../core/detector/remedies.ts';
import type { BudgetsAnswer } from '../../budgets/budgets.ts';
import type { VerdictsAnswer } from '../../verdicts/verdicts.ts';
import type { PausesAnswer } from '../../api/pause-api.ts';
import type { PlanAnswer } from '../../plan/plan.ts';
import type { QuotaListAnswer, QuotaStatus } from '../../api/quota-api.ts';
import type { ReportFrame } from '../../api/report-frames.ts';
import type { SchedulerStatus, Why } from '../../api/scheduler-api.ts';
import type { CellUsage } from '../../api/usage-api.ts';
import type { VolumeListAnswer } from '../../api/volume-api.ts';
import { parseJobObject } from '../../job-file/job-file.ts';
import type { InvitationListAnswer, JoinAnswer, NewInvitation } from '../../join/join.ts';

/** One answer of each type, of one small cell: the job `hello` on `host-1`. */

const AT_MS = 1_760_000_000_000;
const ID = '01jx0c5h3n8w2m4q6r7s9t0v1x';
const AMOUNTS = { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: NO_SCALARS };

function canonical(file: Readonly<Record<string, unknown>>): Job {
  const reading = parseJobObject(file);
  if (!reading.ok) throw new Error('the example is no job file');
  return reading.job;
}

const job = canonical({ name: 'hello', type: 'batch', command: ['echo', 'hello'] });

const claim = {
  ...{ id: ID, host: 'host-1', precedence: 50, resources: AMOUNTS, gpus: [], ports: {} },
  ...{ namespace: 'default', job: 'hello', jobVersion: 1, group: 'hello', index: 0, attempt: 1 },
  scheduler: 'batch-1',
};
const allocation: Allocation = {
  ...{ ...claim, desired: 'run', planId: '01jx0c5h3p', epoch: { incarnation: '6b1e', counter: 3 } },
  createdAtMs: AT_MS,
};
const report: AllocationReport = {
  ...{ ...claim, state: 'running', released: false, reason: '', restarts: 0, startedAtMs: AT_MS + 40 },
  tasks: { hello: { state: 'running', pid: 4_711, restarts: 0, startedAtMs: AT_MS + 40 } },
};
const status: monitor.AllocationStatus = {
  ...{ name: 'hello[0]', allocation, report, restarts: NO_RESTARTS, asOfMs: AT_MS + 90, stale: false },
};
const summary: monitor.JobSummary = {
  ...{ namespace: 'default', name: 'hello', type: 'batch', precedence: 50, version: 1, desired: 'run' },
  ...{ owner: 'batch-1', submittedAtMs: AT_MS, oneOff: false, phase: 'running', restarts: NO_RESTARTS },
  counts: { desired: 1, placed: 1, running: 1, ready: 1, complete: 0, failed: 0 },
};
const host: monitor.HostStatus = {
  host: {
    ...{ id: 'host-1', address: 'https://10.0.0.7:7080', bootId: '0d4c', incarnation: 3 },
    capacity: { cpuMilli: 4_000, memoryMib: 4_096, diskMib: 10_000, scalars: NO_SCALARS },
    ...{ reserved: NO_RESOURCES, gpuModels: [], portRange: { first: 20_000, last: 20_100 } },
    ...{ attributes: { os: 'linux', rack: 'r7' }, agentVersion: '0.1.0' },
  },
  ...{ eligibility: null, used: AMOUNTS, gpuUsedMilli: 0, allocations: 1, alive: true },
  ...{ asOfMs: AT_MS + 90, staleSinceMs: null },
};
const scheduler: SchedulerStatus = {
  ...{ id: 'batch-1', kind: 'batch', policy: 'batch', jobsOwned: 1, pending: 0, decisions: 12 },
  ...{ committed: 11, rebased: 1, conflicted: 1, unknownResolved: 0, ticketsRefused: 0, startsRefused: 0 },
  ...{ busyFraction: 0.02, commitP50Ms: 3.1, commitP99Ms: 9.4, storeTrouble: null },
};
const shared: SharedStatus = {
  ...{ name: 'uplink', unit: 'Mbit/s', by: 'host.rack', capacity: 10_000, isDefined: true },
  pools: [{ value: 'r7', capacity: 4_000, used: 500, hosts: 12 }],
};
const cell: CellStatus = {
  ...{ hosts: { known: 3, alive: 3 }, allocations: 1, jobs: 1, shared: [shared] },
  store: {
    ...{ revision: 812, compactedRevision: 0, databaseBytes: 81_920, inUseBytes: 65_536 },
    ...{ quotaBytes: 2_147_483_648, isFull: false },
  },
  kept: {
    runs: { count: 120, most: 10_000, forMs: 3_600_000 },
    jobs: { count: 4, most: 10_000, forMs: 2_592_000_000 },
    versions: { count: 7, mostEach: 20, forMs: 7_776_000_000 },
    outcomes: { count: 131, mostEach: 5 },
  },
  monitors: [{ id: 'monitor-1', address: 'https://10.0.0.2:7070' }],
  drains: [
    {
      ...{ host: 'host-2', state: 'ready' },
      window: { atMs: 1_800_000_000_000, endsAtMs: 1_800_007_200_000, reason: 'new disks', by: 'ada' },
    },
  ],
};
const quota: QuotaStatus = {
  ...{ namespace: 'team-a', cpuMilli: 8_000, memoryMib: 16_384, gpuMilli: null, allocations: 100 },
  used: { cpuMilli: 100, memoryMib: 64, gpuMilli: 0, allocations: 1 },
  isReadable: true,
};
const name: Omit<NameAnswer, 'incomplete'> = {
  ...{ name: 'http.web.shop.default', namespace: 'default', job: 'shop', group: 'web', port: 'http' },
  endpoints: [
    {
      ...{ allocation: ID, host: 'host-1', index: 0, jobVersion: 1 },
      ...{ address: '10.0.0.7', port: 20_000 },
    },
  ],
};
const token: TokenStatus = {
  ...{ id: ID, name: 'bob', scope: 'submit', namespaces: ['team-a'], createdBy: 'operator/ann' },
  ...{ createdAtMs: AT_MS, endsAtMs: AT_MS + 86_400_000 },
};
const provider: OpenIdStatus = {
  ...{ name: 'staff', issuer: 'https://login.example.org', audience: 'moorage', namespacesClaim: 'groups' },
  ...{ setBy: 'operator/ann', setAtMs: AT_MS, keys: { readAtMs: AT_MS, count: 2, fault: null } },
};
const invitation = {
  ...{ id: ID, host: 'host-7', hosts: ['10.0.0.7'], createdBy: 'operator/ann', endsAtMs: AT_MS + 3_600_000 },
};

const OF_JOBS = {
  SubmitAnswer: {
    ...{ namespace: 'default', name: 'hello', version: 1, changed: true },
  } satisfies monitor.SubmitAnswer,
  BulkAnswer: {
    results: [
      { namespace: 'default', name: 'hello', version: 1, changed: true },
      { problem: { status: 409, code: 'type-immutable', detail: 'hello-2 is a service' } },
    ],
  } satisfies monitor.BulkAnswer,
  JobSummary: summary,
  JobListAnswer: { jobs: [summary], incomplete: false } satisfies monitor.JobListAnswer,
  JobStatus: {
    ...{ summary, record: { job, version: 1, desired: 'run', submittedAtMs: AT_MS } },
    ...{ allocations: [status], outcomes: [], silentHosts: [], incomplete: false },
    rollout: { record: null, paused: false, outdated: 0 },
  } satisfies monitor.JobStatus,
  HistoryAnswer: {
    versions: [{ version: 1, submittedAtMs: AT_MS, current: true, good: true, restores: null, job }],
  } satisfies monitor.HistoryAnswer,
  Why: {
    ...{ namespace: 'default', job: 'hello', scheduler: 'batch-1', summary: '1 waits: no host fits' },
    groups: [
      {
        ...{ group: 'hello', pending: 1, tries: 3, conflicts: 0, nextTryMs: null, stage: 'parked' },
        ...{ detail: 'no host fits', hostsTotal: 1, refusals: [{ check: 'resources', hosts: 1 }] },
        hosts: [
          {
            ...{ host: 'host-1', check: 'resources', detail: 'lacks 100m cpu' },
            short: { dimension: 'cpu', needed: 4_000, available: 3_900 },
          },
        ],
        ...{ gang: false, fits: { now: 0, pending: 1, whenEmpty: 1, count: 1 } },
      },
    ],
  } satisfies Why,
  PlanAnswer: {
    jobs: [
      {
        ...{ namespace: 'default', job: 'hello', version: 2, scheduler: 'batch-1' },
        acts: [
          {
            ...{ act: 'stop', namespace: 'default', job: 'hello', slot: 'hello[0]', host: 'host-1' },
            ...{ allocation: ID, cause: 'replaced by version 2' },
          },
          {
            ...{ act: 'start', namespace: 'default', job: 'hello', slot: 'hello[0]', host: 'host-2' },
            from: 'host-1',
          },
        ],
        actsLeftOut: 0,
        waits: [
          {
            ...{ group: 'hello', waiting: 1, waitingBefore: 0, stage: 'parked' },
            detail: 'no host fits (2 by resources of 2); nearest host-1: lacks 100m cpu',
          },
        ],
      },
    ],
    ...{ versionBefore: 1, jobsHidden: 0, unanswered: [], isCut: false },
    quotas: [{ namespace: 'default', dimension: 'cpuMilli', limit: 3000, used: 2900, wanted: 3400 }],
  } satisfies PlanAnswer,
  RunAnswer: { namespace: 'default', job: 'once-4k2', created: true } satisfies monitor.RunAnswer,
  RunExit: {
    ...{ state: 'complete', exit: { code: 0 }, reason: 'ended', host: 'host-1', allocation: ID },
  } satisfies monitor.RunExit,
  AllocationListAnswer: { allocations: [status], incomplete: false } satisfies monitor.AllocationListAnswer,
  CellUsage: {
    hosts: [
      {
        ...{ host: 'host-1', atMs: 81_234.5 },
        allocations: [{ id: ID, cpuMs: 12, memoryBytes: 1_048_576, pids: 1 }],
      },
    ],
    unreachable: [],
  } satisfies CellUsage,
  CommandStatus: {
    ...{ commandId: 'look-1', task: 'hello', state: 'ended', exit: { code: 0 } },
  } satisfies CommandStatus,
  SignalAnswer: { commandId: 'reload-1', errno: 0 } satisfies SignalAnswer,
};

const OF_THE_CELL = {
  HostStatus: host,
  HostListAnswer: { hosts: [host], incomplete: false } satisfies monitor.HostListAnswer,
  SchedulerListAnswer: { schedulers: [scheduler], unreachable: [] } satisfies monitor.SchedulerListAnswer,
  SharedStatus: shared,
  CellStatus: cell,
  ScrapeTargets: [
    { targets: ['10.0.0.2:7070'], labels: { role: 'monitor', id: 'monitor-1' } },
  ] satisfies ScrapeTargets,
  QuotaStatus: quota,
  QuotaListAnswer: { quotas: [quota] } satisfies QuotaListAnswer,
  PausesAnswer: {
    pauses: [
      {
        ...{ what: 'placement', by: 'operator/ann', reason: 'the network is rebuilt', pool: 'rack-7' },
        ...{ sinceMs: AT_MS, untilMs: AT_MS + 3_600_000 },
      },
    ],
  } satisfies PausesAnswer,
  AlarmsAnswer: {
    alarms: [
      {
        ...{ kind: 'waiting', subject: 'default/web', sinceMs: AT_MS },
        detail: '3 wait: no host has 64 GiB of memory',
      },
    ],
    afterMs: 600_000,
  } satisfies AlarmsAnswer,
  VerdictsAnswer: {
    verdicts: [
      {
        ...{ suspect: 'host/host-7', by: 'monitor-1', sinceMs: AT_MS, times: 1 },
        evidence: {
          ...{ logOddsCenti: 1_240, bad: 6, well: 0, controlBad: 0, controlWell: 31 },
          ...{ firstFailedAtMs: AT_MS - 40_000, hosts: ['host-7'], hostsTotal: 1 },
          ...{ jobs: ['default/api', 'default/web'], jobsTotal: 2, reasons: ['exit code 126'] },
          ...{ changes: ['was rebooted 30 s before the first failure'], rivals: [] },
        },
        remedies: [{ remedy: 'quarantine', state: 'applied', atMs: AT_MS, detail: 'for 30 min at most' }],
      },
    ],
  } satisfies VerdictsAnswer,
  RemedyPolicy: DEFAULT_REMEDIES,
  BudgetsAnswer: {
    budgets: [
      {
        ...{ kind: 'replacements', rule: { burst: 200, perHour: 2_000 }, left: 180 },
        per: { attribute: 'rack', burst: 20, perHour: 100, domains: [{ value: 'r1', left: 0 }] },
      },
      { kind: 'moves', rule: { burst: 20, perHour: 100 }, left: 17 },
      { kind: 'evictions', rule: null, left: null },
    ],
  } satisfies BudgetsAnswer,
  VolumeListAnswer: {
    volumes: [
      {
        ...{ namespace: 'default', claim: 'db.db.data.0', host: 'host-1', isThere: true },
        ...{ access: 'exclusive', onLoss: 'keep', job: 'db', createdAtMs: AT_MS },
        ...{ holders: [ID], left: [], isDeleting: false },
      },
    ],
  } satisfies VolumeListAnswer,
  NameAnswer: { ...name, incomplete: false } satisfies NameAnswer,
  NameListAnswer: { names: [name], incomplete: false } satisfies NameListAnswer,
  NameFrame: { kind: 'name', name: name.name, known: true, endpoints: name.endpoints } satisfies NameFrame,
  CellEvent: {
    ...{ id: '812.0', atMs: AT_MS, kind: 'placed', source: 'batch-1', namespace: 'default', job: 'hello' },
    ...{ allocation: ID, slot: 'hello[0]', host: 'host-1', detail: 'placed on host-1' },
  } satisfies monitor.CellEvent,
  ReportFrame: {
    ...{ kind: 'change', host: 'host-1', incarnation: 3, seq: 9, allocation: report },
  } satisfies ReportFrame,
  VersionAnswer: {
    ...{ version: '0.1.0', role: 'monitor', id: 'monitor-1', startedAtMs: AT_MS },
  } satisfies monitor.VersionAnswer,
};

const OF_ACCESS = {
  WhoAmI: {
    ...{ kind: 'token', name: `token/${ID}`, cell: 'dev', scope: 'submit', namespaces: ['team-a'] },
    endsAtMs: AT_MS,
  } satisfies WhoAmI,
  NewToken: { ...token, token: `moorage.${ID}.<secret>` } satisfies NewToken,
  TokenListAnswer: { tokens: [token] } satisfies TokenListAnswer,
  OpenIdStatus: provider,
  OpenIdListAnswer: { providers: [provider] } satisfies OpenIdListAnswer,
  SecretListAnswer: {
    secrets: [{ namespace: 'default', name: 'password', setBy: 'operator/ann', setAtMs: AT_MS }],
  } satisfies SecretListAnswer,
  HostKeyAnswer: { cell: 'dev', certificate: '-----BEGIN CERTIFICATE-----…' } satisfies HostKeyAnswer,
  NewInvitation: { ...invitation, shown: `moorage-invitation.${ID}.<secret>` } satisfies NewInvitation,
  InvitationListAnswer: {
    invitations: [{ ...invitation, createdAtMs: AT_MS, state: 'open', askedAtMs: null }],
  } satisfies InvitationListAnswer,
  JoinAnswer: { state: 'waiting' } satisfies JoinAnswer,
  AuditAnswer: {
    records: [
      {
        ...{ id: ID, atMs: AT_MS, monitor: 'monitor-1', requestId: 'r-1', by: `token/${ID}`, name: 'bob' },
        ...{ act: 'submit', target: 'default/hello', namespace: 'default' },
      },
    ],
    isCut: false,
  } satisfies AuditAnswer,
};

export const EXAMPLES: Readonly<Record<string, unknown>> = { ...OF_JOBS, ...OF_THE_CELL, ...OF_ACCESS };
