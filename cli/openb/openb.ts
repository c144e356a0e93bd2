/**
 * Reads the host and pod lists of the openb-2023 trace, and makes jobs of the pods. `csv.ts` reads the files.
 */
import { isId } from '../../src/core/cell/ids.ts';
import { GPU_MILLI_PER_DEVICE } from '../../src/core/cell/resources.ts';
import type { CsvRow } from './csv.ts';
import { readCsv, wholeIn, wrong } from './csv.ts';

const HOST_COLUMNS = ['sn', 'cpu_milli', 'memory_mib', 'gpu', 'model'];
const POD_COLUMNS = ['name', 'cpu_milli', 'memory_mib', 'num_gpu', 'gpu_milli'];

export interface TraceHost {
  readonly id: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** The model of each device. */
  readonly gpuModels: readonly string[];
}

/** A pod of the trace: one task that asks for this much. */
export interface TracePod {
  readonly name: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpus: number;
  readonly gpuMilliEach: number;
  /** Empty: any will do. */
  readonly models: readonly string[];
}

/** The hosts of an openb node list: `sn,cpu_milli,memory_mib,gpu,model`. */
export function readHosts(text: string, file: string): TraceHost[] {
  return readCsv(text, file, HOST_COLUMNS).map((row, index) => {
    const line = index + 2;
    const gpus = wholeIn(row, 'gpu', file, line);
    const model = row('model') === '' ? 'unknown' : row('model');
    return {
      id: nameIn(row, 'sn', file, line),
      cpuMilli: wholeIn(row, 'cpu_milli', file, line),
      memoryMib: wholeIn(row, 'memory_mib', file, line),
      gpuModels: Array.from({ length: gpus }, () => model),
    };
  });
}

/**
 * The pods of an openb pod list, in the order of the file. Some lists have no more than the first five columns; a model
 * may be named twice; a pod without a GPU has `gpu_milli` 0.
 */
export function readPods(text: string, file: string): TracePod[] {
  return readCsv(text, file, POD_COLUMNS).map((row, index) => {
    const line = index + 2;
    const gpus = wholeIn(row, 'num_gpu', file, line);
    const milli = wholeIn(row, 'gpu_milli', file, line);
    if (gpus > 0 && (milli < 1 || milli > GPU_MILLI_PER_DEVICE))
      throw wrong(file, line, `gpu_milli: ${String(milli)} is no share of a device`);
    return {
      name: nameIn(row, 'name', file, line),
      cpuMilli: wholeIn(row, 'cpu_milli', file, line),
      memoryMib: wholeIn(row, 'memory_mib', file, line),
      gpus,
      gpuMilliEach: gpus === 0 ? 0 : milli,
      models: [...new Set(row('gpu_spec').split('|'))].filter((model) => model !== ''),
    };
  });
}

function nameIn(row: CsvRow, title: string, file: string, line: number): string {
  const name = row(title);
  if (isId(name)) return name;
  throw wrong(file, line, `${title}: "${name}" is no name`);
}

/** The pod as a job: one allocation that stays, since the replay lets nothing depart. */
export function podJob(pod: TracePod, namespace: string): Record<string, unknown> {
  const gpu = {
    count: pod.gpus,
    share: `${String(pod.gpuMilliEach)}m`,
    ...(pod.models.length === 0 ? {} : { models: pod.models }),
  };
  return {
    name: pod.name,
    namespace,
    type: 'batch',
    command: ['hollow'],
    resources: {
      // A pod that asks for nothing of a kind asks for the least there is.
      cpu: `${String(Math.max(1, pod.cpuMilli))}m`,
      memory: `${String(Math.max(1, pod.memoryMib))}Mi`,
      ...(pod.gpus === 0 ? {} : { gpu }),
    },
  };
}

/** A shuffle that depends on the seed only (Fisher and Yates, over any source of chance). */
export function shuffled<T>(items: readonly T[], below: (bound: number) => number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = below(last + 1);
    const moved = result[last] as T;
    result[last] = result[other] as T;
    result[other] = moved;
  }
  return result;
}
