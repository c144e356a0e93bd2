import { z } from 'zod';
import { GROUP_SECRETS_MAX } from '../../core/access/secret.ts';
import {
  CHANGE_SIGNALS,
  CHECK_PURPOSES,
  TASK_DRIVERS,
  TASK_NETWORKS,
  TASK_USERS,
} from '../../core/cell/job.ts';
import * as bounds from '../values/bounds.ts';
import { amount, duration, mapOf, name, optional, refuse, text, whole, written } from '../values/values.ts';
import { utf8Bytes } from '../values/safe-string.ts';
import { readCpu, readDisk, readMemory, readShare } from '../values/units.ts';

/** A task's part of the job file: what it runs, what it needs, what it may use and how it is stopped. */

const argument = written.pipe(text(bounds.ARG_BYTES_MAX, 'an argument'));

const command = z
  .array(argument)
  .min(1, { error: 'the command is empty' })
  .max(bounds.ARGS_MAX)
  .refine((args) => args[0] !== '', { error: 'the command is empty' })
  .meta({
    description: 'Program and arguments, started without a shell.',
    examples: [['node', 'server.js']],
  });

const script = text(bounds.ARG_BYTES_MAX, 'a script')
  .refine((value) => value.trim() !== '', { error: 'the script is empty' })
  .meta({ description: 'Lines for /bin/sh, instead of `command`.', examples: ['echo "part $ALLOC_INDEX"'] });

const ENV_NAME = /^[A-Z_][A-Z0-9_]{0,63}$/;

const envName = z.string().superRefine((value, ctx) => {
  if (ENV_NAME.test(value)) return;
  const upper = value.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_');
  const hint = ENV_NAME.test(upper) ? `; did you mean "${upper}"?` : '';
  refuse(ctx, `"${value}" is no name for a variable: capital letters, digits and _, at most 64${hint}`);
});

const env = z
  .record(envName, written.pipe(text(bounds.ENV_BYTES_MAX, 'a value')))
  .superRefine((map, ctx) => {
    const entries = Object.entries(map);
    if (entries.length > bounds.ENV_MAX) refuse(ctx, `at most ${String(bounds.ENV_MAX)} variables`);
    const bytes = entries.reduce((sum, [k, v]) => sum + utf8Bytes(k) + utf8Bytes(v) + 2, 0);
    if (bytes > bounds.ENV_BYTES_MAX) refuse(ctx, `at most ${String(bounds.ENV_BYTES_MAX)} bytes in all`);
  })
  .meta({
    description: 'Environment variables; a value keeps its written spelling.',
    examples: [{ LOG_LEVEL: 'info' }],
  });

const gpuFields = z.strictObject({
  count: optional(whole(1, bounds.GPU_COUNT_MAX), 'How many devices. Default 1.', 1),
  share: optional(
    amount(readShare, 'a share such as "0.5" or "500m"'),
    'Part of each device. Default 1, the whole.',
    '500m',
  ),
  models: optional(
    z.array(text(64, 'a model').min(1)).max(bounds.MODELS_MAX),
    'Models that will do. Default: any.',
    ['T4', 'V100M16'],
  ),
});

const gpu = z
  .union([whole(1, bounds.GPU_COUNT_MAX).transform((count) => ({ count })), gpuFields], {
    error: `expected a number of devices (1 to ${String(bounds.GPU_COUNT_MAX)}) or { count, share, models }`,
  })
  .meta({
    description: 'GPUs: a number of whole devices, or count, share and models.',
    examples: [1, { share: '500m' }],
  });

const resources = z.strictObject({
  cpu: optional(
    amount(readCpu, 'cores ("2", "0.5") or millicores ("500m")'),
    'Cores, or millicores with m. Default 100m.',
    '500m',
    '2',
  ),
  memory: optional(
    amount(readMemory, 'a size such as "128Mi"'),
    'Needs a unit: Ki, Mi, Gi, kB, MB, GB; rounded up to MiB. Default 128Mi.',
    '256Mi',
  ),
  disk: optional(amount(readDisk, 'a size such as "1Gi"'), 'Needs a unit, as memory. Default none.', '1Gi'),
  gpu: gpu.optional(),
  scalars: optional(
    mapOf(name, whole(1, bounds.SCALAR_AMOUNT_MAX), bounds.SCALARS_MAX),
    'Amounts of what the operator has named on the hosts.',
    { licence: 1 },
  ),
  shared: optional(
    mapOf(name, whole(1, bounds.SCALAR_AMOUNT_MAX), bounds.SHARED_RESOURCES_MAX),
    'Amounts of what the operator says that hosts share: `moorage shared` lists it.',
    { 'rack-uplink': 200 },
  ),
});

const artifact = z.strictObject({
  source: text(bounds.SOURCE_BYTES_MAX, 'a source')
    .refine((value) => bounds.SOURCE_PATTERN.test(value), {
      error: 'expected https://…, http://… or file:///…',
    })
    .meta({
      description: 'Where a host gets it that has it not yet.',
      examples: ['https://files.example/model.bin'],
    }),
  sha256: z
    .string()
    .regex(bounds.SHA256_PATTERN, { error: 'expected 64 hex digits in lower case, as sha256sum prints them' })
    .meta({ description: 'Of its bytes; any others are refused.' }),
  unpack: optional(z.boolean(), 'It is a tar archive; the task gets its content.'),
});

const rate = amount(readDisk, 'a size such as "10Mi"').optional();

const limits = z.strictObject({
  memory: optional(
    amount(readMemory, 'a size such as "128Mi"'),
    'Beyond this it is killed. Default resources.memory.',
    '512Mi',
  ),
  cpu: optional(
    amount(readCpu, 'cores ("2", "0.5") or millicores ("500m")'),
    'It never gets more. Default all that nobody else wants.',
    '2',
  ),
  pids: optional(whole(1, bounds.PIDS_MAX), 'Processes and threads at once. Default 4096.', 200),
  read: rate.meta({
    description: 'From the host’s disk, each second. Default no bound.',
    examples: ['50Mi'],
  }),
  write: rate.meta({ description: 'To the host’s disk, each second. Default no bound.', examples: ['20Mi'] }),
});

const threshold = whole(1, bounds.CHECK_THRESHOLD_MAX);

const check = z.strictObject({
  http: optional(
    text(bounds.TEXT_BYTES_MAX, 'a path').regex(bounds.CHECK_PATH_PATTERN, {
      error: 'expected a path such as "/readyz"',
    }),
    'A path that answers with a status from 200 to 399.',
    '/readyz',
  ),
  port: optional(name, 'For http: which of the group’s ports. Default the only one.', 'http'),
  tcp: optional(name, 'One of the group’s ports, which takes a connection.', 'http'),
  command: optional(command, 'A command inside the task, as its user, that ends with 0.', ['pg_isready']),
  file: optional(
    z.string().regex(bounds.CHECK_FILE_PATTERN, { error: 'expected one name, such as "ready"' }),
    'The task’s own word: a file of this name in its working folder. Removed before each start.',
    'ready',
  ),
  for: optional(
    z.enum(CHECK_PURPOSES),
    'ready: the task takes traffic. alive: it is ended as failed when not, too. Default ready.',
    'alive',
  ),
  interval: optional(
    duration('more').refine((ms) => ms >= bounds.CHECK_INTERVAL_MS_MIN, { error: 'must be at least 100ms' }),
    'Time between two tries. Default 10s.',
    '10s',
  ),
  timeout: optional(
    duration('more').refine((ms) => ms <= bounds.CHECK_TIMEOUT_MS_MAX, { error: 'must be at most 1m' }),
    'A try without an answer has failed after this. Default 2s.',
    '2s',
  ),
  successThreshold: optional(threshold, 'Successes in a row until it passes. Default 1.', 2),
  failureThreshold: optional(threshold, 'Failures in a row until it fails. Default 3.', 3),
  startPeriod: optional(duration('0'), 'Failures so soon after the start do not count. Default 0s.', '30s'),
});

const usedName = z.strictObject({
  name: text(bounds.TEXT_BYTES_MAX, 'a name').meta({
    description: 'PORT.GROUP.JOB of the same namespace.',
    examples: ['http.web.shop'],
  }),
  env: optional(
    envName,
    'A variable with the endpoints at its start: address:port, with commas between.',
    'API_ADDR',
  ),
  file: optional(
    z.string().regex(bounds.CHECK_FILE_PATTERN, { error: 'expected one name, such as "api.txt"' }),
    'A file in its working folder with one endpoint a line, replaced when they change.',
    'api.txt',
  ),
  onChange: optional(z.enum(CHANGE_SIGNALS), 'A signal after the file was replaced. Default none.', 'SIGHUP'),
});

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGKILL'] as const;

const stop = z.strictObject({
  signal: optional(z.enum(STOP_SIGNALS), 'The first signal. Default SIGTERM.', 'SIGINT'),
  grace: optional(duration('0'), 'Time until SIGKILL to all that is left. Default 10s.', '20s'),
});

const mount = z.strictObject({
  path: optional(
    z.string().regex(bounds.MOUNT_PATTERN, { error: 'expected an absolute path, such as "/var/lib/data"' }),
    'Where a sandbox or container finds it. Default /volumes/<name>.',
    '/var/lib/data',
  ),
  readOnly: optional(z.boolean(), 'The task cannot write to it. Default false.'),
});

export const taskFields = {
  command: command.optional(),
  script: script.optional(),
  env: env.optional(),
  resources: optional(resources, 'What the task needs of its host.'),
  driver: optional(
    z.enum(TASK_DRIVERS),
    'How it is run: a process of the host (default), in a sandbox, or from an image (oci).',
    'sandbox',
  ),
  network: optional(z.enum(TASK_NETWORKS), 'In a sandbox: that of the host, or none. Default none.', 'host'),
  user: optional(
    z.enum(TASK_USERS),
    'root: a sandbox or image starts as root of a user namespace, and may change its user; outside it is nobody. agent: a plain process runs as its agent’s user, where the host allows it. Default: a user of its own, or the image’s.',
    'root',
  ),
  endpoints: optional(
    z.array(usedName).min(1).max(bounds.ENDPOINTS_MAX),
    'Names that the task uses, as a variable, a file, or both.',
    [{ name: 'http.web.shop', file: 'web.txt', onChange: 'SIGHUP' }],
  ),
  secrets: optional(
    z.array(name).min(1).max(GROUP_SECRETS_MAX),
    'Secrets of the namespace (moorage secret set); files of their names in the folder MOORAGE_SECRETS.',
    ['db-password'],
  ),
  image: optional(
    artifact.omit({ unpack: true }),
    'For oci: an archive as docker save or an OCI layout makes it.',
  ),
  artifacts: optional(
    mapOf(name, artifact, bounds.ARTIFACTS_MAX),
    'Files that the host brings first; their paths are in MOORAGE_ARTIFACT_<NAME>.',
  ),
  limits: optional(limits, 'What the task may use at most, where its host can hold it.'),
  mounts: optional(
    mapOf(name, mount, bounds.VOLUMES_MAX),
    'Volumes of its group by name; their paths are in MOORAGE_VOLUME_<NAME>.',
    { data: { path: '/var/lib/data' } },
  ),
  checks: optional(
    mapOf(name, check, bounds.CHECKS_MAX),
    'Health checks by name, made by its host. The task is ready when all of them pass.',
    { web: { http: '/readyz', port: 'http' } },
  ),
  stop: optional(stop, 'How the task is stopped.'),
  stdin: optional(z.boolean(), 'Reads what `moorage attach` is given. Default false: it reads from nothing.'),
  terminal: optional(z.boolean(), 'Has a terminal; what it shows is all standard output. Default false.'),
  sidecar: optional(
    z.boolean(),
    'Stopped when the other tasks of the group have ended; does not decide the outcome.',
  ),
};
