/**
 * What a simulation runs: hosts, and where the jobs come from. A workload file is read here; for a trace, `trace.ts` reads the
 * hosts and jobs: NDJSON by `job-lines.ts`, pods of openb-2023 by `openb-jobs.ts`, SWF logs by `sim/omega`.
 * `trace-choice.ts` has the default lists of openb-2023, which the options of the verb need too.
 */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CellShape, DrawnLoad } from '../../../sim/omega/workload/workload.ts';
import { lastEnd } from '../../../sim/omega/workload/listed-jobs.ts';
import { formatProblem } from '../../../src/wire/job-file/job-file.ts';
import { parseWorkloadText } from '../../../src/wire/workload/workload.ts';
import { CliError, EXIT, usageError } from '../../command/exit.ts';
import { fileFault } from '../../../src/adapters/disk/file-fault.ts';
import { readText } from '../../command/read-text.ts';
import { ALL } from './trace-choice.ts';
import type { TraceRef } from './trace.ts';
import { readTrace } from './trace.ts';

export interface Workload {
  readonly name: string;
  readonly cell: CellShape;
  readonly load: DrawnLoad | null;
  readonly trace: TraceRef | null;
  readonly horizonSeconds: number;
  /** Printed before the run. */
  readonly note: string;
}

export interface WorkloadOptions {
  readonly jobs?: number;
  readonly list: string;
  readonly nodes: string;
  readonly scale: number;
}

const HELP = 'moorage sim run --help';
const FORMAT = 'docs/omega.md tells the format';

/** Beyond the last end of a trace whose jobs never waited, so that those that did can end too. */
const TRACE_SLACK = 1.25;
const TRACE_SLACK_SECONDS = 3600;

/**
 * Reads a workload file (YAML or JSON), a list of jobs (NDJSON), an SWF log (plain or gzipped) or a folder with
 * openb-2023.
 *
 * @throws CliError when it is none of these, or wrong
 */
export async function readWorkload(cwd: string, path: string, options: WorkloadOptions): Promise<Workload> {
  const file = resolve(cwd, path);
  const kind = await kindOf(file, path);
  const { list, nodes, scale, jobs } = options;
  if (kind !== 'openb' && (list !== ALL.list || nodes !== ALL.nodes))
    throw usageError(`--list and --nodes choose from openb-2023, and ${path} is another workload`, HELP);
  if (kind === 'file') {
    if (jobs !== undefined)
      throw usageError(
        `--jobs takes the first of a trace, and ${path} draws its jobs`,
        '--hours N   ends earlier',
      );
    return await readFileOf(file, path);
  }
  const trace: TraceRef = { kind, path: file, list, nodes, jobsMax: jobs ?? null, scale };
  const read = await readTrace(trace);
  const tasks = read.jobs.reduce((sum, job) => sum + job.tasks, 0);
  const skipped = read.skipped === 0 ? '' : `, ${String(read.skipped)} lines without work left out`;
  return {
    name: path,
    cell: { hosts: read.hosts, prefill: [], hostGroups: 1 },
    load: null,
    trace,
    horizonSeconds: Math.ceil(lastEnd(read.jobs, scale) * TRACE_SLACK + TRACE_SLACK_SECONDS),
    note: `${String(read.jobs.length)} jobs with ${String(tasks)} tasks${skipped}`,
  };
}

async function kindOf(file: string, path: string): Promise<TraceRef['kind'] | 'file'> {
  const found = await stat(file).catch((error: unknown) => {
    throw usageError(`cannot read ${path}: ${fileFault(error)}`, 'moorage sim run examples/workload.yaml');
  });
  if (found.isDirectory()) return 'openb';
  if (/\.swf(\.gz)?$/.test(path)) return 'swf';
  return /\.(ndjson|jsonl)$/.test(path) ? 'lines' : 'file';
}

async function readFileOf(file: string, path: string): Promise<Workload> {
  const reading = parseWorkloadText(await readText(file, FORMAT), path);
  if (!reading.ok) throw new CliError(EXIT.badSpec, reading.problems.map(formatProblem).join('\n'), FORMAT);
  const { name, hosts, hostGroups, prefill, classes, duration } = reading.workload;
  const picky = [classes.batch, classes.service].some((one) => one?.constraint != null);
  return {
    name,
    cell: { hosts, prefill, hostGroups: picky ? hostGroups : 1 },
    load: { batch: classes.batch ?? null, service: classes.service ?? null },
    trace: null,
    horizonSeconds: duration,
    note: `${String(hosts.reduce((sum, { count }) => sum + count, 0))} hosts`,
  };
}
