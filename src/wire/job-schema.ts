import { z } from 'zod';
import { ID_PATTERN } from '../core/ids.ts';
import { JOB_TYPES, SCHEDULER_KINDS, TASK_DRIVERS, TASK_NETWORKS } from '../core/job.ts';
import * as bounds from './bounds.ts';
import { readAttribute, readExpression } from './expression-text.ts';
import { unsafeText, utf8Bytes } from './safe-string.ts';
import type { Reading } from './units.ts';
import { readCpu, readDisk, readDuration, readMemory, readShare } from './units.ts';

/** The job file's shape: what a person may write, with every field's meaning, and each unit turned into whole numbers. */

type Ctx = z.core.$RefinementCtx;

/** A custom issue may say how many characters into the written text its fault begins. */
function refuse(ctx: Ctx, message: string, column = 0): typeof z.NEVER {
  ctx.addIssue({ code: 'custom', message, params: { column } });
  return z.NEVER;
}

function amount(read: (text: string) => Reading, what: string) {
  return z.union([z.string(), z.number()], { error: `expected ${what}` }).transform((written, ctx) => {
    const reading = read(String(written));
    return reading.ok ? reading.value : refuse(ctx, reading.text);
  });
}

function duration(least: '0' | 'more') {
  return amount(readDuration, 'a duration such as "15s" or "1h30m"').refine((ms) => least === '0' || ms > 0, {
    error: 'must be more than 0',
  });
}

function text(bytesMax: number, what: string) {
  return z.string().superRefine((value, ctx) => {
    const why = unsafeText(value, bytesMax);
    if (why !== null) refuse(ctx, `${what} ${why}`);
  });
}

const NAME_RULE = 'use lower-case letters, digits and dashes, at most 63, not starting or ending with a dash';
const name = z.string().regex(ID_PATTERN, { error: NAME_RULE });

/** A name that is a key of a map: groups, tasks, ports. */
const key = name;

/** Things in a map are counted; a list or a map over its bound says so. */
function mapOf<T extends z.ZodType>(keyRule: z.ZodType<string, string>, value: T, entriesMax: number) {
  return z.record(keyRule, value).superRefine((map, ctx) => {
    const count = Object.keys(map).length;
    if (count > entriesMax) refuse(ctx, `at most ${String(entriesMax)} entries, found ${String(count)}`);
  });
}

const whole = (least: number, most: number) => z.int().min(least).max(most);

/** YAML reads `8080` and `true` as what they look like; in these places they are text. */
const written = z.union([z.string(), z.number(), z.boolean()], { error: 'expected text' }).transform(String);

const argument = written.pipe(text(bounds.ARG_BYTES_MAX, 'an argument'));

export const command = z
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

const env = z
  .record(
    z.string().superRefine((value, ctx) => {
      if (ENV_NAME.test(value)) return;
      const upper = value.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_');
      const hint = ENV_NAME.test(upper) ? `; did you mean "${upper}"?` : '';
      refuse(ctx, `"${value}" is no name for a variable: capital letters, digits and _, at most 64${hint}`);
    }),
    written.pipe(text(bounds.ENV_BYTES_MAX, 'a value')),
  )
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
  count: whole(1, bounds.GPU_COUNT_MAX)
    .optional()
    .meta({ description: 'How many devices. Default 1.', examples: [1] }),
  share: amount(readShare, 'a share such as "0.5" or "500m"')
    .optional()
    .meta({ description: 'Part of each device. Default 1, the whole.', examples: ['500m'] }),
  models: z
    .array(text(64, 'a model').min(1))
    .max(bounds.MODELS_MAX)
    .optional()
    .meta({ description: 'Models that will do. Default: any.', examples: [['T4', 'V100M16']] }),
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
  cpu: amount(readCpu, 'cores ("2", "0.5") or millicores ("500m")')
    .optional()
    .meta({ description: 'Cores, or millicores with m. Default 100m.', examples: ['500m', '2'] }),
  memory: amount(readMemory, 'a size such as "128Mi"')
    .optional()
    .meta({
      description: 'Needs a unit: Ki, Mi, Gi, kB, MB, GB; rounded up to MiB. Default 128Mi.',
      examples: ['256Mi'],
    }),
  disk: amount(readDisk, 'a size such as "1Gi"')
    .optional()
    .meta({ description: 'Needs a unit, as memory. Default none.', examples: ['1Gi'] }),
  gpu: gpu.optional(),
  scalars: mapOf(key, whole(1, bounds.SCALAR_AMOUNT_MAX), bounds.SCALARS_MAX)
    .optional()
    .meta({
      description: 'Amounts of what the operator has named on the hosts.',
      examples: [{ licence: 1 }],
    }),
  shared: mapOf(key, whole(1, bounds.SCALAR_AMOUNT_MAX), bounds.SHARED_RESOURCES_MAX)
    .optional()
    .meta({
      description: 'Amounts of what the operator says that hosts share: `moorage shared` lists it.',
      examples: [{ 'rack-uplink': 200 }],
    }),
});

export const SHA256_PATTERN = /^[0-9a-f]{64}$/;
export const SOURCE_PATTERN = /^(?:https?:\/\/|file:\/\/\/)[^\s]+$/;

const artifact = z.strictObject({
  source: text(bounds.SOURCE_BYTES_MAX, 'a source')
    .refine((value) => SOURCE_PATTERN.test(value), { error: 'expected https://…, http://… or file:///…' })
    .meta({
      description: 'Where a host gets it that has it not yet.',
      examples: ['https://files.example/model.bin'],
    }),
  sha256: z
    .string()
    .regex(SHA256_PATTERN, { error: 'expected 64 hex digits in lower case, as sha256sum prints them' })
    .meta({ description: 'Of its bytes; any others are refused.' }),
  unpack: z.boolean().optional().meta({ description: 'It is a tar archive; the task gets its content.' }),
});

const rate = amount(readDisk, 'a size such as "10Mi"').optional();

const limits = z.strictObject({
  memory: amount(readMemory, 'a size such as "128Mi"')
    .optional()
    .meta({ description: 'Beyond this it is killed. Default resources.memory.', examples: ['512Mi'] }),
  cpu: amount(readCpu, 'cores ("2", "0.5") or millicores ("500m")')
    .optional()
    .meta({ description: 'It never gets more. Default all that nobody else wants.', examples: ['2'] }),
  pids: whole(1, bounds.PIDS_MAX)
    .optional()
    .meta({ description: 'Processes and threads at once. Default 4096.', examples: [200] }),
  read: rate.meta({
    description: 'From the host’s disk, each second. Default no bound.',
    examples: ['50Mi'],
  }),
  write: rate.meta({ description: 'To the host’s disk, each second. Default no bound.', examples: ['20Mi'] }),
});

export const STOP_SIGNALS = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGKILL',
] as const;

const stop = z.strictObject({
  signal: z
    .enum(STOP_SIGNALS)
    .optional()
    .meta({ description: 'The first signal. Default SIGTERM.', examples: ['SIGINT'] }),
  grace: duration('0')
    .optional()
    .meta({ description: 'Time until SIGKILL to all that is left. Default 10s.', examples: ['20s'] }),
});

const restart = z.strictObject({
  attempts: whole(0, bounds.ATTEMPTS_MAX)
    .optional()
    .meta({ description: 'Restarts on the same host within the window.' }),
  window: duration('more')
    .optional()
    .meta({ description: 'The time in which attempts are counted.', examples: ['10m'] }),
  delay: duration('0')
    .optional()
    .meta({ description: 'Time before each restart.', examples: ['5s'] }),
  maxDelay: duration('0')
    .optional()
    .meta({
      description: 'The delay doubles up to this, and begins anew after a run that lasted as long.',
      examples: ['5m'],
    }),
  on: z.enum(['failure', 'always', 'never']).optional().meta({ description: 'What to restart after.' }),
});

const reschedule = z.strictObject({
  attempts: z
    .union([whole(0, bounds.ATTEMPTS_MAX), z.literal('unlimited')], {
      error: `expected a whole number from 0 to ${String(bounds.ATTEMPTS_MAX)}, or unlimited`,
    })
    .optional()
    .meta({
      description: 'New allocations on other hosts when the restarts are used up.',
      examples: [3, 'unlimited'],
    }),
  delay: duration('0')
    .optional()
    .meta({ description: 'The first delay; it doubles.', examples: ['15s'] }),
  maxDelay: duration('0')
    .optional()
    .meta({ description: 'The longest delay.', examples: ['10m'] }),
  onHostLost: z
    .boolean()
    .optional()
    .meta({ description: 'Replace what ran on a host that was declared lost. Default false.' }),
});

const expression = z.string().transform((value, ctx) => {
  const reading = readExpression(value);
  return reading.ok ? reading.value : refuse(ctx, reading.text, reading.column);
});

const attribute = z.string().transform((value, ctx) => {
  const reading = readAttribute(value);
  return reading.ok ? reading.value : refuse(ctx, reading.text);
});

const weight = whole(-bounds.WEIGHT_MAX, bounds.WEIGHT_MAX).refine((value) => value !== 0, {
  error: 'a weight of 0 does nothing',
});

const port = z
  .union([z.literal('auto').transform(() => 0), whole(1, 65_535)], {
    error: 'expected "auto" or a port from 1 to 65535',
  })
  .meta({ description: 'A fixed port, or auto for any free one.', examples: ['auto', 8080] });

export const taskFields = {
  command: command.optional(),
  script: script.optional(),
  env: env.optional(),
  resources: resources.optional().meta({ description: 'What the task needs of its host.' }),
  driver: z
    .enum(TASK_DRIVERS)
    .optional()
    .meta({
      description: 'How it is run: a process of the host (default), in a sandbox, or from an image (oci).',
      examples: ['sandbox'],
    }),
  network: z
    .enum(TASK_NETWORKS)
    .optional()
    .meta({ description: 'In a sandbox: that of the host, or none. Default none.', examples: ['host'] }),
  image: artifact
    .omit({ unpack: true })
    .optional()
    .meta({ description: 'For oci: an archive as docker save or an OCI layout makes it.' }),
  artifacts: mapOf(key, artifact, bounds.ARTIFACTS_MAX).optional().meta({
    description: 'Files that the host brings first; their paths are in MOORAGE_ARTIFACT_<NAME>.',
  }),
  limits: limits
    .optional()
    .meta({ description: 'What the task may use at most, where its host can hold it.' }),
  stop: stop.optional().meta({ description: 'How the task is stopped.' }),
  stdin: z.boolean().optional().meta({
    description: 'Reads what `moorage attach` is given. Default false: it reads from nothing.',
  }),
  sidecar: z.boolean().optional().meta({
    description: 'Stopped when the other tasks of the group have ended; does not decide the outcome.',
  }),
};

/** The fields of a group without its tasks; in the short form they stand beside the job's. */
export const groupFields = {
  count: whole(1, bounds.COUNT_MAX)
    .optional()
    .meta({ description: 'How many allocations. Default 1.', examples: [6] }),
  parallelism: whole(1, bounds.COUNT_MAX)
    .optional()
    .meta({ description: 'How many may run at once. Default all.', examples: [20] }),
  gang: z.boolean().optional().meta({ description: 'All of count are placed in one commit, or none.' }),
  ports: mapOf(key, port, bounds.PORTS_MAX)
    .optional()
    .meta({
      description: 'Ports by label, set as MOORAGE_PORT_<LABEL> for the tasks.',
      examples: [{ http: 'auto' }],
    }),
  constraints: z
    .array(expression)
    // A printed job has those of its drivers written out.
    .max(bounds.CONSTRAINTS_MAX + TASK_DRIVERS.length)
    .optional()
    .meta({ description: 'What a host must be.', examples: [['host.os == linux', 'host.memory >= 2Gi']] }),
  affinities: z
    .array(z.strictObject({ expr: expression, weight: weight.optional() }))
    .max(bounds.CONSTRAINTS_MAX)
    .optional()
    .meta({
      description: 'What a host should be; weight -100 to 100.',
      examples: [[{ expr: 'host.class == ssd', weight: 40 }]],
    }),
  spread: z
    .array(z.strictObject({ by: attribute, weight: whole(1, bounds.WEIGHT_MAX).optional() }))
    .max(bounds.ATTRIBUTES_MAX)
    .optional()
    .meta({
      description: 'Even distribution over the values of an attribute.',
      examples: [[{ by: 'host.zone' }]],
    }),
  distinct: z
    .array(attribute)
    .max(bounds.ATTRIBUTES_MAX)
    .optional()
    .meta({ description: 'No two allocations share these: host is one per host.', examples: [['host']] }),
  restart: restart.optional().meta({ description: 'Restarts on the same host.' }),
  reschedule: reschedule.optional().meta({ description: 'New allocations on other hosts.' }),
  deadline: duration('more')
    .optional()
    .meta({ description: 'Run time after which it is stopped. Default none.', examples: ['2h'] }),
  disconnect: z
    .strictObject({
      stopAfter: duration('more')
        .refine((ms) => ms >= bounds.DISCONNECT_MS_MIN, { error: 'must be at least 15s' })
        .meta({ description: 'Stopped when its host was cut off for so long.', examples: ['2m'] }),
    })
    .optional()
    .meta({ description: 'What its host does when it is cut off from the cell. Default: it runs on.' }),
  waitMax: duration('more')
    .optional()
    .meta({
      description: 'How long it may wait for a place before the job fails. Default for ever.',
      examples: ['10m'],
    }),
};

export const jobFields = {
  name: name.meta({ description: 'Unique in its namespace.', examples: ['storefront'] }),
  namespace: name.optional().meta({ description: 'Default "default".', examples: ['team-a'] }),
  type: z
    .enum(JOB_TYPES)
    .optional()
    .meta({ description: 'Default service.', examples: ['batch'] }),
  priority: whole(0, bounds.PRECEDENCE_MAX)
    .optional()
    .meta({ description: 'Precedence, 0 to 100: who may take whose place. Default 50.', examples: [60] }),
  scheduler: z
    .enum(['auto', ...SCHEDULER_KINDS])
    .optional()
    .meta({ description: 'Kind of scheduler. Default auto: by type.', examples: ['auto'] }),
  labels: mapOf(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/, {
      error: 'a label begins with a letter or digit and has letters, digits and . _ / - after it, at most 63',
    }),
    written.pipe(text(bounds.TEXT_BYTES_MAX, 'a label')),
    bounds.LABELS_MAX,
  )
    .optional()
    .meta({ description: 'For people and their tools.', examples: [{ team: 'web' }] }),
  oneOff: z.boolean().optional().meta({ description: 'Made by `moorage run -- COMMAND`.' }),
};

const task = z.strictObject(taskFields);

const group = z.strictObject({
  ...groupFields,
  tasks: mapOf(key, task, bounds.TASKS_MAX)
    .refine((tasks) => Object.keys(tasks).length > 0, { error: 'needs at least one task' })
    .meta({ description: 'Tasks by name; they share one allocation.' }),
});

/** job → group → task. */
export const longForm = z.strictObject({
  ...jobFields,
  groups: mapOf(key, group, bounds.GROUPS_MAX)
    .refine((groups) => Object.keys(groups).length > 0, { error: 'needs at least one group' })
    .meta({ description: 'Groups by name. Absent: the short form, one task.' }),
});

/** One task, its group and the job in one map. */
export const shortForm = z.strictObject({ ...jobFields, ...groupFields, ...taskFields });

export type TaskFile = z.output<typeof task>;
export type GroupFile = z.output<typeof group>;
export type LongFile = z.output<typeof longForm>;
export type ShortFile = z.output<typeof shortForm>;
