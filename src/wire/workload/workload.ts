/**
 * The file of a workload for `moorage sim run`: hosts, what runs at the start, and how jobs of two classes arrive. `lines.ts`
 * has the other form of a workload, one line for each job.
 */
import { z } from 'zod';
import type { JobProblem } from '../job-file/problems.ts';
import { readShape, readText } from '../job-file/read-text.ts';
import { amount } from '../values/values.ts';
import { readCpu, readDuration, readMemory, readShare } from '../values/units.ts';

const HOSTS_MAX = 200_000;
const COUNT_MAX = 1_000_000;
const QUANTILES_MAX = 10_001;
const PARTS_MAX = 64;
const GROUPS_MAX = 30;
const DEVICES_MAX = 64;
const MS_PER_SECOND = 1000;

const cpu = amount(readCpu, 'cores ("2", "0.5") or millicores ("500m")');
const memory = amount(readMemory, 'an amount of memory such as "16Gi"');
const seconds = amount(readDuration, 'a duration such as "90s" or "1h30m"').transform(
  (ms) => ms / MS_PER_SECOND,
);
/** Seconds, more than none. */
export const simulatedDuration = seconds.refine((value) => value > 0, { error: 'must be more than 0' });

/** `60%` → 0.6 */
const share = z
  .string({ error: 'expected a share such as "60%"' })
  .regex(/^\d{1,3}(\.\d{1,3})?%$/, { error: 'expected a share such as "60%"' })
  .transform((text) => Number(text.slice(0, -1)) / 100)
  .refine((value) => value <= 1, { error: 'more than 100%' });

const weight = z.number().positive().default(1);

/** A single value, or how it is drawn. */
function distribution(value: z.ZodType<number>) {
  const plain = value.transform((constant) => ({ kind: 'constant' as const, value: constant }));
  const exponential = z
    .strictObject({ mean: value })
    .transform(({ mean }) => ({ kind: 'exponential' as const, mean }));
  const logUniform = z
    .strictObject({ from: value, to: value })
    .refine(({ from, to }) => from > 0 && to >= from, {
      error: '"from" must be above 0 and "to" not below it',
    })
    .transform(({ from, to }) => ({ kind: 'log-uniform' as const, least: from, most: to }));
  const quantiles = z
    .strictObject({ quantiles: z.array(value).min(1).max(QUANTILES_MAX) })
    .refine(({ quantiles: list }) => list.every((one, at) => at === 0 || one >= (list[at - 1] as number)), {
      error: 'quantiles must not fall',
    })
    .transform(({ quantiles: values }) => ({ kind: 'quantiles' as const, values }));
  const simple = z.union([plain, exponential, logUniform, quantiles]);
  const mixture = z
    .strictObject({
      mix: z
        .array(z.strictObject({ weight, of: simple }))
        .min(1)
        .max(PARTS_MAX),
    })
    .transform(({ mix }) => ({ kind: 'mixture' as const, parts: mix }));
  return z.union([plain, exponential, logUniform, quantiles, mixture], {
    error: 'expected a value, { mean }, { from, to }, { quantiles } or { mix }',
  });
}

const gpu = z.strictObject({
  count: z.int().min(1).max(DEVICES_MAX),
  share: amount(readShare, 'a part of one GPU').default(1000),
  models: z.array(z.string()).max(PARTS_MAX).default([]),
});

export const taskShape = z
  .strictObject({ cpu, memory, gpu: gpu.optional(), weight })
  .transform(({ cpu: cpuMilli, memory: memoryMib, gpu: devices, weight: weighs }) => ({
    ...{ cpuMilli, memoryMib, weight: weighs },
    gpu:
      devices === undefined
        ? null
        : { count: devices.count, milliEach: devices.share, models: devices.models },
  }));

const workClass = z
  .strictObject({
    every: distribution(simulatedDuration),
    tasks: distribution(z.number().positive().max(COUNT_MAX)),
    runtime: distribution(simulatedDuration),
    task: z.union([taskShape.transform((one) => [one]), z.array(taskShape).min(1).max(PARTS_MAX)], {
      error: 'expected { cpu, memory } or a list of such with weights',
    }),
    gang: z.boolean().default(false),
    picky: z.strictObject({ jobs: share, hosts: share }).optional(),
  })
  .transform((written) => ({
    gapSeconds: written.every,
    tasks: written.tasks,
    runtimeSeconds: written.runtime,
    shapes: written.task,
    gang: written.gang,
    constraint:
      written.picky === undefined ? null : { jobShare: written.picky.jobs, hostShare: written.picky.hosts },
  }));

const hosts = z
  .strictObject({
    count: z.int().min(1).max(HOSTS_MAX),
    cpu,
    memory,
    gpus: z
      .strictObject({ count: z.int().min(1).max(DEVICES_MAX), model: z.string().default('gpu') })
      .optional(),
  })
  .transform(({ count, cpu: cpuMilli, memory: memoryMib, gpus }) => ({
    ...{ count, cpuMilli, memoryMib },
    gpuModels: gpus === undefined ? [] : Array.from({ length: gpus.count }, () => gpus.model),
  }));

export const hostKinds = z.array(hosts).min(1).max(PARTS_MAX);

const prefill = z
  .strictObject({
    cpu: share,
    class: z.enum(['batch', 'service']),
    lives: z.enum(['standing', 'residual']).default('standing'),
  })
  .transform(({ cpu: cpuShare, class: work, lives }) => ({ cpuShare, work, lives }));

const workload = z
  .strictObject({
    name: z.string().max(200).default('workload'),
    duration: simulatedDuration,
    hosts: hostKinds,
    hostGroups: z.int().min(1).max(GROUPS_MAX).default(20),
    prefill: z.array(prefill).max(PARTS_MAX).default([]),
    classes: z
      .strictObject({ batch: workClass.optional(), service: workClass.optional() })
      .refine(({ batch, service }) => (batch ?? service) !== undefined, {
        error: 'no class; there are batch and service',
      }),
  })
  .refine(({ hosts: kinds }) => kinds.reduce((sum, { count }) => sum + count, 0) <= HOSTS_MAX, {
    error: `more than ${String(HOSTS_MAX)} hosts`,
    path: ['hosts'],
  });

export type WorkloadFile = z.output<typeof workload>;

export type WorkloadReading =
  | { readonly ok: true; readonly workload: WorkloadFile }
  | { readonly ok: false; readonly problems: readonly JobProblem[] };

/** Reads a workload file, YAML 1.2 or JSON. @returns every problem with its place in the text */
export function parseWorkloadText(text: string, file: string): WorkloadReading {
  const reading = readText(text, file, (value) => readShape(workload, value));
  return reading.ok ? { ok: true, workload: reading.value } : reading;
}
