/**
 * Every kind of record in the store: JSON with a `v` field, in which unknown fields survive. Each codec throws RecordError,
 * naming the kind and the place, for what it cannot read.
 *
 * Small records have their schemas here. Those that are read by the ten thousand have codecs of their own:
 * `allocation-codec.ts` and `ledger-codec.ts` by hand, `job-codec.ts` with a short cut for jobs that differ by name.
 */
import { z } from 'zod';
import type { AuditRecord } from '../../core/access/audit.ts';
import { IDENTITY_ROLES } from '../../core/access/identity.ts';
import type { Bundle, Invitation, SignedBundle } from '../../core/access/invitation.ts';
import type { OpenIdProvider } from '../../core/access/openid.ts';
import type { Secret } from '../../core/access/secret.ts';
import { SCOPES } from '../../core/access/person.ts';
import type { Token } from '../../core/access/token.ts';
import type { Outcome } from '../../core/cell/allocation.ts';
import type { CellMeta } from '../../core/core.ts';
import type { Eligibility, Host } from '../../core/host/host.ts';
import { ELIGIBILITY, HOST_CONFIRMATIONS } from '../../core/host/host.ts';
import type { Intent } from '../../core/cell/intent.ts';
import { INTENT_STATES } from '../../core/cell/intent.ts';
import type { CoveredNamespace, GrantBatch } from '../../core/quota/grant.ts';
import type { Pause } from '../../core/quota/pauses.ts';
import { PAUSABLE } from '../../core/quota/pauses.ts';
import type { Quota } from '../../core/quota/quota.ts';
import type { RolloutRecord } from '../../core/cell/rollout.ts';
import { ROLLOUT_STATES } from '../../core/cell/rollout.ts';
import type { Owner, RoleRecord } from '../../core/cell/cell.ts';
import { ROLE_KINDS } from '../../core/cell/cell.ts';
import { VOLUME_ACCESS, VOLUME_ON_LOSS } from '../../core/cell/volume.ts';
import type { Pool, SharedResource } from '../../core/quota/shared-resource.ts';
import { SHARED_RATES } from '../../core/quota/shared-resource.ts';
import { checkedCodec, resources, schemaCodec, whole } from '../codec/codec.ts';

export { allocationCodec } from './allocation-codec.ts';
export { jobCodec } from './job-codec.ts';
export { ledgerCodec } from './ledger-codec.ts';

const port = z.int().min(1).max(65_535);

export const hostCodec = schemaCodec<Host>(
  'host',
  z.looseObject({
    id: z.string(),
    address: z.string(),
    capacity: resources,
    reserved: resources,
    gpuModels: z.array(z.string()),
    portRange: z.looseObject({ first: port, last: port }),
    attributes: z.record(z.string(), z.string()),
    bootId: z.string(),
    incarnation: whole,
    agentVersion: z.string(),
  }),
);

export const drainWindow = z.looseObject({
  ...{ atMs: whole, reason: z.string(), by: z.string() },
  ...{ endsAtMs: z.exactOptional(whole), deadlineMs: z.exactOptional(whole) },
  beganAtMs: z.exactOptional(whole),
});

export const fenceAnswer = z.looseObject({
  ...{ confirmed: z.boolean(), counter: whole, detail: z.string(), by: z.string(), atMs: whole },
});

export const eligibilityCodec = checkedCodec<Eligibility>(
  'eligibility',
  z.looseObject({
    state: z.enum(ELIGIBILITY),
    reason: z.string(),
    by: z.string(),
    sinceMs: whole,
    counter: whole,
    drainDeadlineMs: z.exactOptional(whole),
    silentMs: z.exactOptional(whole),
    confirmed: z.exactOptional(z.enum(HOST_CONFIRMATIONS)),
    labels: z.exactOptional(z.record(z.string(), z.string())),
    window: z.exactOptional(drainWindow),
    fences: z.exactOptional(z.record(z.string(), fenceAnswer)),
  }),
);

export const ownerCodec = schemaCodec<Owner>(
  'owner',
  z.looseObject({ scheduler: z.string(), kind: z.string(), sinceMs: whole }),
);

export const outcomeCodec = schemaCodec<Outcome>(
  'outcome',
  z.looseObject({
    allocation: z.string(),
    namespace: z.string(),
    job: z.string(),
    jobVersion: whole,
    group: z.string(),
    index: whole,
    attempt: whole,
    host: z.string(),
    scheduler: z.string(),
    state: z.string(),
    exit: z.exactOptional(
      z.looseObject({
        code: z.exactOptional(z.int()),
        signal: z.exactOptional(z.string()),
        lost: z.exactOptional(z.string()),
        unhealthy: z.exactOptional(z.string()),
        oomKills: z.exactOptional(whole),
      }),
    ),
    reason: z.string(),
    cause: z.exactOptional(z.string()),
    startedAtMs: z.exactOptional(whole),
    endedAtMs: whole,
    restarts: whole,
  }),
);

export const rolloutCodec = checkedCodec<RolloutRecord>(
  'rollout',
  z.looseObject({
    ...{ version: whole, state: z.enum(ROLLOUT_STATES), sinceMs: whole, reason: z.string() },
    good: z.exactOptional(whole),
  }),
);

export const intentCodec = schemaCodec<Intent>(
  'intent',
  z.looseObject({
    id: z.string(),
    namespace: z.string(),
    job: z.string(),
    jobVersion: whole,
    group: z.string(),
    scheduler: z.string(),
    planId: z.string(),
    members: whole,
    state: z.enum(INTENT_STATES),
    createdAtMs: whole,
    ttlMs: whole,
  }),
);

/** The record behind an idempotency key: `runs/<namespace>/<key>`. */
export interface RunRecord {
  readonly job: string;
  readonly createdAtMs: number;
}

export const runCodec = schemaCodec<RunRecord>('run', z.looseObject({ job: z.string(), createdAtMs: whole }));

export const roleCodec = schemaCodec<RoleRecord>(
  'role',
  z.looseObject({
    kind: z.enum(ROLE_KINDS),
    id: z.string(),
    address: z.string(),
    version: z.string(),
    policy: z.string(),
    startedAtMs: whole,
  }),
);

export const quotaCodec = checkedCodec<Quota>(
  'quota',
  z.looseObject({
    namespace: z.string(),
    cpuMilli: whole.nullable(),
    memoryMib: whole.nullable(),
    gpuMilli: whole.nullable(),
    allocations: whole.nullable(),
  }),
);

export const grantBatchCodec = schemaCodec<GrantBatch>(
  'grant batch',
  z.looseObject({
    arbiter: z.string(),
    grants: z.array(
      z.looseObject({
        ...{ namespace: z.string(), job: z.string(), host: z.string(), id: z.string() },
        ...{ cpuMilli: whole, memoryMib: whole, gpuMilli: whole },
      }),
    ),
  }),
);

export const coveredNamespaceCodec = schemaCodec<CoveredNamespace>(
  'covered namespace',
  z.looseObject({ quotaRevision: whole }),
);

/** A resource that hosts share, under `limits/shared/`. */
export const sharedResourceCodec = checkedCodec<SharedResource>(
  'shared resource',
  z.looseObject({
    name: z.string(),
    unit: z.string(),
    by: z.string().nullable(),
    capacity: whole,
    capacities: z.record(z.string(), whole),
    rate: z.exactOptional(z.enum(SHARED_RATES)),
  }),
);

const volumeFields = {
  ...{ id: z.string(), source: z.exactOptional(z.string()) },
  ...{ access: z.enum(VOLUME_ACCESS), onLoss: z.enum(VOLUME_ON_LOSS) },
};

export const poolCodec = schemaCodec<Pool>(
  'pool',
  z.looseObject({
    used: whole,
    volume: z.exactOptional(
      z.looseObject({
        ...{ ...volumeFields, host: z.string(), job: z.string(), createdAtMs: whole },
        left: z.exactOptional(z.array(z.looseObject({ host: z.string(), id: z.string(), used: whole }))),
        deleting: z.exactOptional(z.literal(true)),
        driver: z.exactOptional(z.string()),
        begun: z.exactOptional(z.literal(true)),
        fenced: z.exactOptional(z.literal(true)),
      }),
    ),
  }),
);

/** A switch of an operator, under `pauses/`. */
export const pauseCodec = checkedCodec<Pause>(
  'pause',
  z.looseObject({
    ...{ what: z.enum(PAUSABLE), by: z.string(), reason: z.string(), sinceMs: whole },
    ...{ namespace: z.exactOptional(z.string()), job: z.exactOptional(z.string()) },
    ...{ pool: z.exactOptional(z.string()), host: z.exactOptional(z.string()) },
    ...{ version: z.exactOptional(whole), everyMs: z.exactOptional(whole) },
    ...{ untilMs: z.exactOptional(whole), endedAtMs: z.exactOptional(whole) },
  }),
);

export const tokenCodec = checkedCodec<Token>(
  'token',
  z.looseObject({
    ...{ id: z.string(), name: z.string(), hash: z.string(), scope: z.enum(SCOPES) },
    ...{ namespaces: z.array(z.string()).nullable() },
    ...{ createdBy: z.string(), createdAtMs: whole, endsAtMs: whole },
  }),
);

export const auditCodec = schemaCodec<AuditRecord>(
  'audit',
  z.looseObject({
    ...{ id: z.string(), atMs: whole, monitor: z.string(), requestId: z.string(), by: z.string() },
    ...{ name: z.exactOptional(z.string()), act: z.string(), target: z.string() },
    ...{ namespace: z.exactOptional(z.string()), detail: z.exactOptional(z.string()) },
    ...{ refused: z.exactOptional(z.string()) },
  }),
);

export const openIdProviderCodec = checkedCodec<OpenIdProvider>(
  'OpenID provider',
  z.looseObject({
    ...{ name: z.string(), issuer: z.string(), audience: z.string(), namespacesClaim: z.string() },
    ...{ scopeClaim: z.exactOptional(z.string()), authorities: z.exactOptional(z.string()) },
    ...{ setBy: z.string(), setAtMs: whole },
  }),
);

const signedBundle = z.looseObject({ text: z.string(), signature: z.string() });

export const invitationCodec = checkedCodec<Invitation>(
  'invitation',
  z.looseObject({
    ...{ id: z.string(), host: z.string(), hosts: z.array(z.string()), hash: z.string() },
    ...{ createdBy: z.string(), createdAtMs: whole, endsAtMs: whole },
    asked: z.exactOptional(z.looseObject({ publicKey: z.string(), proof: z.string(), atMs: whole })),
    answer: z.exactOptional(signedBundle),
  }),
);

export const signedBundleCodec = schemaCodec<SignedBundle>('signed bundle', signedBundle);

export const bundleCodec = schemaCodec<Bundle>(
  'bundle',
  z.looseObject({
    ...{ cell: z.string(), role: z.enum(IDENTITY_ROLES), id: z.string() },
    ...{ certificate: z.string(), authorities: z.string() },
    ...{ pinnedKeys: z.string(), etcd: z.array(z.string()) },
    ...{ hostKey: z.exactOptional(z.string()), hostCertificate: z.exactOptional(z.string()) },
  }),
);

export const metaCodec = checkedCodec<CellMeta>(
  'meta',
  z.looseObject({
    ...{ schema: whole, incarnation: z.string(), createdAtMs: whole },
    restoredAtMs: z.exactOptional(whole),
  }),
);

export const secretCodec = checkedCodec<Secret>(
  'secret',
  z.looseObject({
    namespace: z.string(),
    name: z.string(),
    sealed: z.string(),
    setBy: z.string(),
    setAtMs: whole,
  }),
);
