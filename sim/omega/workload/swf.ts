import type { HostKind, SimJob } from './workload.ts';
import { ANY_HOST } from './workload.ts';

/** A log in the Standard Workload Format: its machine, and its jobs in the order of the file. */
export interface SwfLog {
  readonly hosts: readonly HostKind[];
  readonly jobs: readonly SimJob[];
  /** Lines without work: never started, or no processors. */
  readonly skipped: number;
}

/** Memory of a host for each core, where the log does not give it: that of RICC's machine. */
const MIB_PER_CORE = 1536;
const MIB_UNKNOWN = 256;
const KIB_PER_MIB = 1024;
const CORE_MILLI = 1000;
const FIELDS = 18;

/** Fields by their place, from 0. */
const SUBMIT = 1;
const RUN = 3;
const USED = 4;
const ASKED = 7;
const MEMORY_KIB = 9;

/** More of them is a damaged line: three hundred years, a million processors, a pebibyte. */
const MOST: ReadonlyMap<number, number> = new Map([
  [SUBMIT, 1e10],
  [RUN, 1e10],
  [USED, 1_000_000],
  [ASKED, 1_000_000],
  [MEMORY_KIB, 2 ** 40],
]);
const HOSTS_MAX = 200_000;

/**
 * Reads a log: each job a gang of one-core tasks, as many as processors were used, each with the memory that was asked
 * for. Times are as recorded; estimates and recorded waits are left aside.
 *
 * @param jobsMax the first so many jobs
 * @throws when a line is not one of 18 numbers, has a value that no machine has, or the header does not describe the machine
 */
export function readSwf(text: string, jobsMax = Infinity): SwfLog {
  const header = new Map<string, number>();
  const jobs: SimJob[] = [];
  let skipped = 0;
  let number = 0;
  for (const line of linesOf(text)) {
    number += 1;
    if (jobs.length >= jobsMax) break;
    if (line.startsWith(';')) {
      const field = /^;\s*(MaxNodes|MaxProcs):\s*(\d{1,9})(?![\w.])/.exec(line);
      if (field !== null) header.set(field[1] ?? '', Number(field[2]));
      continue;
    }
    const fields = line.trim().split(/\s+/);
    if (fields.length === 1 && fields[0] === '') continue;
    const job = jobOf(fields, jobs.length, number);
    if (job === null) skipped += 1;
    else jobs.push(job);
  }
  return { hosts: machineOf(header), jobs, skipped };
}

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end;
    yield text.slice(from, to);
    from = to + 1;
  }
}

function jobOf(fields: readonly string[], id: number, line: number): SimJob | null {
  const numbers = fields.map(Number);
  if (fields.length < FIELDS || numbers.some(Number.isNaN))
    throw new Error(
      `line ${String(line)} is not ${String(FIELDS)} numbers, as a job of an SWF log is: ${fields.join(' ').slice(0, 80)}`,
    );
  const of = (field: number): number => numbers[field] as number;
  for (const [field, most] of MOST)
    if (of(field) > most)
      throw new Error(
        `line ${String(line)}: field ${String(field + 1)} is ${fields[field] ?? ''}, of which ${String(most)} is the most`,
      );
  const tasks = of(USED) > 0 ? of(USED) : of(ASKED);
  if (tasks <= 0 || of(RUN) <= 0) return null;
  const memoryMib = of(MEMORY_KIB) > 0 ? Math.ceil(of(MEMORY_KIB) / KIB_PER_MIB) : MIB_UNKNOWN;
  return {
    ...{ id, work: 'batch', gang: true, hostGroups: ANY_HOST, tasks },
    submitSeconds: Math.max(0, of(SUBMIT)),
    runtimeSeconds: of(RUN),
    shape: { cpuMilli: CORE_MILLI, memoryMib, gpu: null },
  };
}

function machineOf(header: ReadonlyMap<string, number>): readonly HostKind[] {
  const procs = header.get('MaxProcs');
  const nodes = header.get('MaxNodes') ?? procs;
  if (nodes === undefined || procs === undefined || nodes < 1 || procs < nodes)
    throw new Error(
      'its header does not tell the machine: put "; MaxNodes: <hosts>" and "; MaxProcs: <cores>" before the jobs',
    );
  if (nodes > HOSTS_MAX)
    throw new Error(`MaxNodes is ${String(nodes)}, of which ${String(HOSTS_MAX)} is the most`);
  const cores = Math.floor(procs / nodes);
  return [{ count: nodes, cpuMilli: cores * CORE_MILLI, memoryMib: cores * MIB_PER_CORE, gpuModels: [] }];
}
