import { z } from 'zod';
import { GROUP_SECRETS_MAX, SEALED_CHARS_MAX } from '../../core/access/secret.ts';
import type { Allocation } from '../../core/cell/allocation.ts';
import { DESIRED_STATES } from '../../core/cell/allocation.ts';
import { SURPLUS_PRECEDENCE } from '../../core/cell/claim.ts';
import { isClaimName, VOLUME_ACCESS, VOLUME_ON_LOSS } from '../../core/cell/volume.ts';
import {
  CHECK_PURPOSES,
  CHANGE_SIGNALS,
  TASK_DRIVERS,
  TASK_NETWORKS,
  TASK_USERS,
} from '../../core/cell/job.ts';
import type { Launch, StartRequest, StopRequest } from './host-api.ts';
import { whole } from '../codec/codec.ts';
import * as bounds from '../values/bounds.ts';
import { id, mapOf, plainText } from './api.ts';

/** Shapes of what schedulers send to a host-agent, with bounds on everything: the sender is not trusted. */

const amount = whole.max(Number.MAX_SAFE_INTEGER);
const durationMs = whole.max(bounds.DURATION_MS_MAX);
const port = z.int().min(1).max(65_535);
const SCALAR_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,191}$/;
/** Names of environment variables that every shell takes; the kernel takes any text. */
export const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const bounded = (most: number) => z.int().min(1).max(most);

const resources = z.strictObject({
  cpuMilli: amount,
  memoryMib: amount,
  diskMib: amount,
  scalars: mapOf(z.string().regex(SCALAR_NAME), amount, bounds.CLAIM_SCALARS_MAX),
});

export const epoch = z.strictObject({ incarnation: plainText(bounds.TEXT_BYTES_MAX), counter: amount });

/** What an allocation takes of its host. */
export const claim = {
  id,
  host: id,
  precedence: z.int().min(SURPLUS_PRECEDENCE).max(bounds.PRECEDENCE_MAX),
  resources,
  gpus: z
    .array(z.strictObject({ device: whole.max(bounds.GPU_COUNT_MAX - 1), milli: z.int().min(1).max(1000) }))
    .max(bounds.GPU_COUNT_MAX),
  ports: mapOf(id, port, bounds.PORTS_MAX),
  shared: z.exactOptional(
    mapOf(
      plainText(bounds.POOL_NAME_BYTES_MAX).min(1),
      amount,
      bounds.SHARED_RESOURCES_MAX + bounds.VOLUMES_MAX,
    ),
  ),
  volumes: z.exactOptional(
    z
      .array(
        z.strictObject({
          ...{ name: id, claim: z.string().refine(isClaimName, { error: 'is no claim' }), id },
          source: z.exactOptional(id),
          access: z.enum(VOLUME_ACCESS),
          readOnly: z.exactOptional(z.literal(true)),
          onLoss: z.enum(VOLUME_ON_LOSS),
          driver: z.exactOptional(id),
          sizeMib: z.exactOptional(amount),
          create: z.exactOptional(z.literal(true)),
          force: z.exactOptional(z.literal(true)),
        }),
      )
      .min(1)
      .max(bounds.VOLUMES_MAX),
  ),
};

/** Beyond this many an eviction is no eviction, but an emptying of the host. */
const EVICTS_MAX = 256;

/**
 * Fields that are not listed are dropped, not refused: schedulers of a newer version pass on what they read in the store.
 * The launch, which starts a process, is strict.
 */
export const allocation: z.ZodType<Allocation> = z.object({
  ...claim,
  namespace: id,
  job: id,
  jobVersion: amount,
  group: id,
  index: amount,
  attempt: amount,
  scheduler: id,
  desired: z.enum(DESIRED_STATES),
  planId: plainText(bounds.TEXT_BYTES_MAX),
  epoch,
  createdAtMs: amount,
  cause: z.exactOptional(plainText(bounds.TEXT_BYTES_MAX)),
  replaces: z.exactOptional(id),
  evicts: z.exactOptional(z.array(id).max(EVICTS_MAX)),
  intent: z.exactOptional(id),
});

const envMap = mapOf(z.string().regex(ENV_NAME), plainText(bounds.ENV_BYTES_MAX), bounds.ENV_MAX).refine(
  (env) =>
    Object.entries(env).reduce((sum, [name, value]) => sum + name.length + value.length, 0) <=
    bounds.ENV_BYTES_MAX,
  { error: 'is too large' },
);

const artifact = z.strictObject({
  source: plainText(bounds.SOURCE_BYTES_MAX).regex(bounds.SOURCE_PATTERN),
  sha256: z.string().regex(bounds.SHA256_PATTERN),
  unpack: z.boolean(),
});

const command = z.array(plainText(bounds.ARG_BYTES_MAX)).min(1).max(bounds.ARGS_MAX);

const probe = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('http'),
    port: id,
    path: plainText(bounds.TEXT_BYTES_MAX).regex(bounds.CHECK_PATH_PATTERN),
  }),
  z.strictObject({ kind: z.literal('tcp'), port: id }),
  z.strictObject({ kind: z.literal('command'), command }),
  z.strictObject({ kind: z.literal('file'), file: z.string().regex(bounds.CHECK_FILE_PATTERN) }),
]);

const check = z.strictObject({
  probe,
  purpose: z.enum(CHECK_PURPOSES),
  intervalMs: durationMs.min(bounds.CHECK_INTERVAL_MS_MIN),
  timeoutMs: bounded(bounds.CHECK_TIMEOUT_MS_MAX),
  successThreshold: bounded(bounds.CHECK_THRESHOLD_MAX),
  failureThreshold: bounded(bounds.CHECK_THRESHOLD_MAX),
  startPeriodMs: durationMs,
});

const task = z.strictObject({
  name: id,
  command,
  env: envMap,
  resources,
  gpu: z
    .strictObject({
      count: z.int().min(1).max(bounds.GPU_COUNT_MAX),
      milliEach: z.int().min(1).max(1000),
      models: z.array(plainText(bounds.TEXT_BYTES_MAX)).max(bounds.MODELS_MAX),
    })
    .nullable(),
  shared: z.exactOptional(mapOf(id, amount, bounds.SHARED_RESOURCES_MAX)),
  driver: z.exactOptional(z.enum(TASK_DRIVERS)),
  network: z.exactOptional(z.enum(TASK_NETWORKS)),
  user: z.exactOptional(z.enum(TASK_USERS)),
  endpoints: z.exactOptional(
    z
      .array(
        z.strictObject({
          name: plainText(bounds.TEXT_BYTES_MAX),
          env: z.exactOptional(z.string().regex(/^[A-Z_][A-Z0-9_]{0,63}$/)),
          file: z.exactOptional(z.string().regex(bounds.CHECK_FILE_PATTERN)),
          onChange: z.exactOptional(z.enum(CHANGE_SIGNALS)),
        }),
      )
      .min(1)
      .max(bounds.ENDPOINTS_MAX),
  ),
  secrets: z.exactOptional(z.array(id).min(1).max(GROUP_SECRETS_MAX)),
  image: z.exactOptional(artifact),
  artifacts: z.exactOptional(mapOf(id, artifact, bounds.ARTIFACTS_MAX)),
  limits: z.exactOptional(
    z.strictObject({
      memoryMib: z.exactOptional(bounded(bounds.MEMORY_MIB_MAX)),
      cpuMilli: z.exactOptional(bounded(bounds.CPU_MILLI_MAX)),
      pids: z.exactOptional(bounded(bounds.PIDS_MAX)),
      readMib: z.exactOptional(bounded(bounds.DISK_MIB_MAX)),
      writeMib: z.exactOptional(bounded(bounds.DISK_MIB_MAX)),
    }),
  ),
  mounts: z.exactOptional(
    mapOf(
      id,
      z.strictObject({
        path: z.exactOptional(z.string().regex(bounds.MOUNT_PATTERN)),
        readOnly: z.exactOptional(z.literal(true)),
      }),
      bounds.VOLUMES_MAX,
    ),
  ),
  checks: z.exactOptional(mapOf(id, check, bounds.CHECKS_MAX)),
  stop: z.strictObject({ signal: z.string().regex(/^SIG[A-Z0-9]{1,12}$/), graceMs: durationMs }),
  sidecar: z.boolean(),
  stdin: z.exactOptional(z.literal(true)),
  terminal: z.exactOptional(z.literal(true)),
});

export const launch: z.ZodType<Launch> = z.strictObject({
  tasks: mapOf(id, task, bounds.TASKS_MAX).refine((tasks) => Object.keys(tasks).length > 0, {
    error: 'needs at least one task',
  }),
  restart: z.strictObject({
    attempts: whole.max(bounds.ATTEMPTS_MAX),
    windowMs: durationMs,
    delayMs: durationMs,
    delayMaxMs: z.exactOptional(durationMs),
    on: z.enum(['failure', 'always', 'never']),
  }),
  deadlineMs: durationMs.nullable(),
  stopAfterDisconnectMs: z.exactOptional(durationMs.min(1)),
  shutdownDelayMs: z.exactOptional(durationMs),
});

/** A ticket of ours is under 2 KiB; one with many ports and devices some 4. */
const TICKET_CHARS_MAX = 16 * 1024;
export const commandId = plainText(bounds.TEXT_BYTES_MAX).refine((value) => value.length > 0, {
  error: 'is empty',
});

/** By name. */
export const sealedSecrets = mapOf(id, plainText(SEALED_CHARS_MAX), GROUP_SECRETS_MAX);

export const startRequest: z.ZodType<StartRequest> = z.strictObject({
  commandId,
  allocation,
  launch,
  ticket: plainText(TICKET_CHARS_MAX).nullable(),
  sealed: z.exactOptional(sealedSecrets),
});

export const stopRequest: z.ZodType<StopRequest> = z.strictObject({
  commandId,
  epoch,
  mode: z.enum(['stop', 'remove', 'evict', 'drain']),
  cause: plainText(bounds.TEXT_BYTES_MAX),
});
