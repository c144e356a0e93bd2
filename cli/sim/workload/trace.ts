import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { errorText } from '../../../src/core/errors/errors.ts';
import { listedJobs } from '../../../sim/omega/workload/listed-jobs.ts';
import { readSwf } from '../../../sim/omega/workload/swf.ts';
import type { JobSource } from '../../../sim/omega/workload/workload.ts';
import { didYouMean } from '../../../src/wire/values/suggest.ts';
import { CliError, EXIT } from '../../command/exit.ts';
import { fileFault } from '../../../src/adapters/disk/file-fault.ts';
import { readHosts } from '../../openb/openb.ts';
import type { ListedJobs } from './job-lines.ts';
import { readJobLines } from './job-lines.ts';
import { readOpenbJobs } from './openb-jobs.ts';

/** Which jobs of which file: enough to read them again in another thread. */
export interface TraceRef {
  readonly kind: 'swf' | 'openb' | 'lines';
  /** Of openb the folder. */
  readonly path: string;
  /** Of openb which pods. */
  readonly list: string;
  /** Of openb which hosts: `all` or `gpu`. */
  readonly nodes: string;
  /** The first so many; null: all. */
  readonly jobsMax: number | null;
  /** Divides the time between submissions. */
  readonly scale: number;
}

export interface Trace extends ListedJobs {
  /** Lines without work, which are left out. */
  readonly skipped: number;
}

export async function openTrace(ref: TraceRef): Promise<JobSource> {
  return listedJobs((await readTrace(ref)).jobs, ref.scale);
}

/** @throws CliError when the file is not what it should be */
export async function readTrace(ref: TraceRef): Promise<Trace> {
  const jobsMax = ref.jobsMax ?? Infinity;
  if (ref.kind === 'openb') return readOpenb(ref, jobsMax);
  const text = await readText(ref.path);
  const wrong = (error: unknown): CliError => {
    const why = errorText(error);
    return new CliError(EXIT.badSpec, `${ref.path}: ${why}`, 'docs/omega.md tells the format', error);
  };
  let trace: Trace;
  try {
    trace = ref.kind === 'swf' ? readSwf(text, jobsMax) : { ...readJobLines(text, jobsMax), skipped: 0 };
  } catch (error) {
    throw wrong(error);
  }
  if (trace.jobs.length === 0) throw wrong('there is no job in it');
  return trace;
}

async function readOpenb({ path, list, nodes }: TraceRef, jobsMax: number): Promise<Trace> {
  if ((await stat(join(path, 'openb_node_list_all_node.csv')).catch(() => null)) === null)
    throw new CliError(
      EXIT.badSpec,
      `${path} is a folder without openb_node_list_all_node.csv: of folders only openb-2023 is read`,
      'give a workload file (.yaml, .json), a list of jobs (.ndjson) or an SWF log (.swf, .swf.gz)',
    );
  const hostsFile = join(path, `openb_node_list_${nodes}_node.csv`);
  const podsFile = join(path, `openb_pod_list_${list}.csv`);
  const found = await readdir(path);
  const lists = found.flatMap((name) => /^openb_pod_list_(\w+)\.csv$/.exec(name)?.[1] ?? []).sort();
  if (!lists.includes(list))
    throw new CliError(
      EXIT.badSpec,
      `${path} has no openb_pod_list_${list}.csv${didYouMean(list, lists)}`,
      lists.length === 0
        ? 'put the lists of pods beside the hosts'
        : `--list with one of ${lists.join(', ')}`,
    );
  const hosts = readHosts(await readText(hostsFile), hostsFile).map(({ cpuMilli, memoryMib, gpuModels }) => ({
    ...{ count: 1, cpuMilli, memoryMib, gpuModels },
  }));
  const jobs = readOpenbJobs(await readText(podsFile), podsFile);
  return { hosts, jobs: jobs.slice(0, Math.min(jobs.length, jobsMax)), skipped: 0 };
}

async function readText(path: string): Promise<string> {
  try {
    const bytes = await readFile(path);
    return (path.endsWith('.gz') ? await promisify(gunzip)(bytes) : bytes).toString('utf8');
  } catch (error) {
    const hint = 'name a file that is whole and that you may read; docs/omega.md tells the formats';
    throw new CliError(EXIT.badSpec, `cannot read ${path}: ${fileFault(error)}`, hint, error);
  }
}
