import type { Distribution } from './distribution.ts';
import { meanOf } from './distribution.ts';
import type { CellShape, ClassLoad, DrawnLoad, HostKind, WeightedShape } from './workload.ts';

/**
 * Stand-ins for the three cells of the paper, and the example that its simulator ships.
 *
 * The real parameters were never published. What is given: the percentiles of section 2.1, about 60 % of the cpu in use,
 * and the arrival rates at which one batch scheduler saturates (2.5, 6 and 9.5 times), which fix the product of the rate
 * and the mean decision time. Everything else here is our own choice within those.
 */
export const CELL_NAMES = ['A', 'B', 'C', 'D', 'example'] as const;
export type CellName = (typeof CELL_NAMES)[number];

export interface NamedCell {
  readonly title: string;
  readonly cell: CellShape;
  readonly load: DrawnLoad;
}

const DAY_SECONDS = 86_400;
const PLAIN_HOST = { cpuMilli: 4000, memoryMib: 16_384, gpuModels: [] };

/** At the saturation point 200 a second of these must fit beside what runs there. */
const BATCH_SHAPES: readonly WeightedShape[] = [
  { weight: 60, cpuMilli: 100, memoryMib: 256, gpu: null },
  { weight: 25, cpuMilli: 200, memoryMib: 768, gpu: null },
  { weight: 12, cpuMilli: 500, memoryMib: 1536, gpu: null },
  { weight: 3, cpuMilli: 1000, memoryMib: 4096, gpu: null },
];

/** For the smaller cell, where as many must fit. */
export const SMALL_BATCH_SHAPES: readonly WeightedShape[] = [
  { weight: 50, cpuMilli: 50, memoryMib: 128, gpu: null },
  { weight: 30, cpuMilli: 100, memoryMib: 384, gpu: null },
  { weight: 15, cpuMilli: 200, memoryMib: 768, gpu: null },
  { weight: 5, cpuMilli: 500, memoryMib: 2048, gpu: null },
];

/** 80 % within 13 minutes. */
const BATCH_RUNTIME: Distribution = { kind: 'log-uniform', least: 10, most: 2400 };

const SERVICE_SHAPES: readonly WeightedShape[] = [
  { weight: 35, cpuMilli: 100, memoryMib: 384, gpu: null },
  { weight: 40, cpuMilli: 250, memoryMib: 1024, gpu: null },
  { weight: 20, cpuMilli: 500, memoryMib: 1536, gpu: null },
  { weight: 5, cpuMilli: 1500, memoryMib: 6144, gpu: null },
];

/** A third of the service jobs lasts for months, the rest some hours: 22 % beyond a month, 80 % within 29 days. */
const SERVICE_LIFETIME: Distribution = {
  kind: 'mixture',
  parts: [
    { weight: 0.33, of: { kind: 'exponential', mean: 60 * DAY_SECONDS } },
    { weight: 0.67, of: { kind: 'exponential', mean: 0.1 * DAY_SECONDS } },
  ],
};

/** Most jobs have one task; the rest are of every size up to `most`. */
function jobSizes(single: number, most: number): Distribution {
  return {
    kind: 'mixture',
    parts: [
      { weight: single, of: { kind: 'constant', value: 1 } },
      { weight: 1 - single, of: { kind: 'log-uniform', least: 2, most } },
    ],
  };
}

interface Calibration {
  readonly hosts: number;
  readonly batchGapSeconds: number;
  readonly batchTasksMost: number;
  readonly batchShapes: readonly WeightedShape[];
  readonly serviceGapSeconds: number;
  /** Shares of the cpu: what services hold, and what other work holds all along. */
  readonly serviceCpuShare: number;
  readonly standingCpuShare: number;
}

/** 60 % of the cpu in use, three quarters of it by services. */
const USUAL_SHARES = { serviceCpuShare: 0.45, standingCpuShare: 0.15 };
const SERVICE_SINGLE = 0.5;
const BATCH_SINGLE = 0.7;

function calibrated(title: string, by: Calibration): NamedCell {
  const hosts = [{ ...PLAIN_HOST, count: by.hosts }];
  const batch: ClassLoad = {
    gapSeconds: { kind: 'exponential', mean: by.batchGapSeconds },
    tasks: jobSizes(BATCH_SINGLE, by.batchTasksMost),
    runtimeSeconds: BATCH_RUNTIME,
    shapes: by.batchShapes,
    gang: false,
    constraint: null,
  };
  const service: ClassLoad = {
    gapSeconds: { kind: 'exponential', mean: by.serviceGapSeconds },
    tasks: jobSizes(SERVICE_SINGLE, serviceTasksMost(by)),
    runtimeSeconds: SERVICE_LIFETIME,
    shapes: SERVICE_SHAPES,
    gang: false,
    constraint: null,
  };
  return { title, cell: cellOf(hosts, by), load: { batch, service } };
}

function cellOf(hosts: readonly HostKind[], by: Calibration): CellShape {
  return {
    hosts,
    hostGroups: 1,
    prefill: [
      { cpuShare: by.serviceCpuShare, work: 'service', lives: 'residual' },
      { cpuShare: by.standingCpuShare, work: 'batch', lives: 'standing' },
    ],
  };
}

/** The largest service job, so that as much begins as ends, and the cell stays as full as it was. */
function serviceTasksMost({ hosts, serviceGapSeconds, serviceCpuShare }: Calibration): number {
  const cpuMilli = serviceCpuShare * hosts * PLAIN_HOST.cpuMilli;
  const perTask = meanCpuMilli(SERVICE_SHAPES) * meanOf(SERVICE_LIFETIME);
  const wanted = (cpuMilli * serviceGapSeconds) / perTask;
  let [low, high] = [3, 100_000];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (meanOf(jobSizes(SERVICE_SINGLE, middle)) < wanted) low = middle;
    else high = middle;
  }
  return Math.round(low);
}

export function meanCpuMilli(shapes: readonly WeightedShape[]): number {
  const weight = shapes.reduce((sum, shape) => sum + shape.weight, 0);
  return shapes.reduce((sum, shape) => sum + shape.weight * shape.cpuMilli, 0) / weight;
}

const CALIBRATIONS = {
  /** 0.40 busy at 0.1 s and 5 ms a task. */
  A: {
    hosts: 10_000,
    batchGapSeconds: 2.5,
    batchTasksMost: 4_650,
    batchShapes: SMALL_BATCH_SHAPES,
    serviceGapSeconds: 250,
    ...USUAL_SHARES,
  },
  /** 0.17. */
  B: {
    hosts: 14_000,
    batchGapSeconds: 3,
    batchTasksMost: 1_855,
    batchShapes: BATCH_SHAPES,
    serviceGapSeconds: 150,
    ...USUAL_SHARES,
  },
  /** 0.105. */
  C: {
    hosts: 12_583,
    batchGapSeconds: 4,
    batchTasksMost: 1_390,
    batchShapes: BATCH_SHAPES,
    serviceGapSeconds: 400,
    ...USUAL_SHARES,
  },
  /** Of section 6 only: a quarter of A, and lightly loaded. */
  D: {
    hosts: 2_500,
    batchGapSeconds: 10,
    batchTasksMost: 1_390,
    batchShapes: SMALL_BATCH_SHAPES,
    serviceGapSeconds: 600,
    serviceCpuShare: 0.25,
    standingCpuShare: 0.05,
  },
} as const satisfies Record<string, Calibration>;

const exponential = (mean: number): Distribution => ({ kind: 'exponential', mean });
const shape = (cpuMilli: number, memoryMib: number): readonly WeightedShape[] => [
  { weight: 1, cpuMilli, memoryMib, gpu: null },
];

/** The shipped example: 10,000 machines, invented numbers, as its authors say. */
const EXAMPLE: NamedCell = {
  title: 'the example that Omega’s simulator ships',
  cell: {
    hosts: [{ ...PLAIN_HOST, count: 10_000 }],
    hostGroups: 1,
    prefill: [{ cpuShare: 0.6, work: 'service', lives: 'standing' }],
  },
  load: {
    batch: {
      gapSeconds: exponential(10),
      tasks: exponential(100),
      runtimeSeconds: exponential(100),
      shapes: shape(1000, 2048),
      gang: false,
      constraint: null,
    },
    service: {
      gapSeconds: exponential(20),
      tasks: exponential(10),
      runtimeSeconds: exponential(500),
      shapes: shape(1000, 2048),
      gang: false,
      constraint: null,
    },
  },
};

export const CELLS: Readonly<Record<CellName, NamedCell>> = {
  A: calibrated('medium and busy', CALIBRATIONS.A),
  B: calibrated('the largest', CALIBRATIONS.B),
  C: calibrated('the size of the public trace’s cell', CALIBRATIONS.C),
  D: calibrated('small and lightly loaded', CALIBRATIONS.D),
  example: EXAMPLE,
};

/** The machines of the public trace, as far as known: most alike, a few with twice the cpu, differing memory. */
const TRACE_HOST_SHARES = [
  { share: 0.535, cpuMilli: 4000, memoryMib: 16_384 },
  { share: 0.307, cpuMilli: 4000, memoryMib: 8_192 },
  { share: 0.08, cpuMilli: 4000, memoryMib: 24_576 },
  { share: 0.063, cpuMilli: 8000, memoryMib: 32_768 },
  { share: 0.015, cpuMilli: 2000, memoryMib: 8_192 },
] as const;

const TRACE_HOST_GROUPS = 20;
const PICKY_BATCH = { jobShare: 0.1, hostShare: 0.25 };
const PICKY_SERVICE = { jobShare: 0.5, hostShare: 0.1 };

/**
 * The same cell with what the paper's high-fidelity simulator had and the light one had not: machines of several kinds,
 * and jobs that only some machines can take. (Which ones and how many is our choice; the traces are not public.)
 */
export function closerToLife(named: NamedCell): NamedCell {
  const count = named.cell.hosts.reduce((sum, kind) => sum + kind.count, 0);
  const hosts = TRACE_HOST_SHARES.map(({ share, cpuMilli, memoryMib }) => ({
    ...{ count: Math.round(share * count), cpuMilli, memoryMib, gpuModels: [] },
  }));
  const { batch, service } = named.load;
  return {
    title: `${named.title}, with machines of several kinds and picky jobs`,
    cell: { ...named.cell, hosts, hostGroups: TRACE_HOST_GROUPS },
    load: {
      batch: batch === null ? null : { ...batch, constraint: PICKY_BATCH },
      service: service === null ? null : { ...service, constraint: PICKY_SERVICE },
    },
  };
}
