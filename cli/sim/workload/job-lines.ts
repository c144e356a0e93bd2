import { parseJobLine, parseMachineLine } from '../../../src/wire/workload/lines.ts';
import type { HostKind, SimJob } from '../../../sim/omega/workload/workload.ts';
import { ANY_HOST } from '../../../sim/omega/workload/workload.ts';

/** The hosts and jobs of a trace. */
export interface ListedJobs {
  readonly hosts: readonly HostKind[];
  readonly jobs: readonly SimJob[];
}

/**
 * Reads NDJSON: the first line has the hosts, every other one a job.
 * @throws with the number of the line that is wrong
 */
export function readJobLines(text: string, jobsMax: number): ListedJobs {
  const lines = text.split('\n').map((line) => line.trim());
  const { hosts } = parseMachineLine(lines[0] ?? '');
  const jobs: SimJob[] = [];
  for (const [at, line] of lines.entries()) {
    if (at === 0 || line === '') continue;
    if (jobs.length >= jobsMax) break;
    jobs.push({ id: jobs.length, hostGroups: ANY_HOST, ...parseJobLine(line, at + 1) });
  }
  return { hosts, jobs };
}
