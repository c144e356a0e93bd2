import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import type { LogStream } from '../../src/wire/api/host-api.ts';
import type { CellCopy } from '../view/view.ts';

export interface LogQuery {
  /** For whom it is read. */
  readonly by: string;
  readonly jobKey: string;
  readonly group: string | null;
  readonly index: number;
  /** Wins over group and index. */
  readonly allocation: string | null;
  readonly task: string | null;
  readonly stream: LogStream;
  readonly offset: number;
  /** Whose bytes `offset` counts: the output of another allocation begins at 0. null: of the one that is found. */
  readonly offsetOf: string | null;
  readonly follow: boolean;
}

/** The allocation and task whose output is asked for, and its host. */
export interface LogTarget {
  readonly allocation: string;
  readonly host: string;
  readonly task: string;
  /** Its outcome is durable: its host may have forgotten it since. */
  readonly ended: boolean;
}

interface Candidate {
  readonly id: string;
  readonly host: string;
  readonly group: string;
  readonly index: number;
  readonly attempt: number;
  readonly ended: boolean;
}

/** @returns null when there is no such allocation yet */
export function logTarget(copy: CellCopy, view: CellView, query: LogQuery): LogTarget | null {
  const group = query.group ?? firstGroup(copy, query.jobKey);
  let best: Candidate | null = null;
  for (const candidate of candidates(copy, view, query)) {
    if (query.allocation === null) {
      if (candidate.index !== query.index || (group !== null && candidate.group !== group)) continue;
    } else if (candidate.id !== query.allocation) continue;
    if (best === null || candidate.attempt >= best.attempt) best = candidate;
  }
  if (best === null) return null;
  const task = query.task ?? mainTask(copy, view, query.jobKey, best);
  return task === null ? null : { allocation: best.id, host: best.host, task, ended: best.ended };
}

function* candidates(copy: CellCopy, view: CellView, query: LogQuery): Generator<Candidate> {
  for (const { value } of copy.outcomesByJob.of(query.jobKey).values())
    if (value.host !== '') yield { ...value, id: value.allocation, ended: true };
  for (const { value } of copy.allocationsByJob.of(query.jobKey).values()) yield { ...value, ended: false };
  if (query.allocation === null) return;
  // Nothing of it in the store: a host may still hold its record.
  const report = view.allocation(query.allocation);
  if (report !== undefined && `${report.namespace}/${report.job}` === query.jobKey)
    yield { ...report, ended: true };
}

function firstGroup(copy: CellCopy, jobKey: string): string | null {
  const job = copy.jobs.get(jobKey)?.value.job;
  return job === undefined ? null : (Object.keys(job.groups)[0] ?? null);
}

/** The first task that is no sidecar; of a job whose record is gone, the first that its host reports. */
function mainTask(copy: CellCopy, view: CellView, jobKey: string, at: Candidate): string | null {
  const tasks = Object.values(copy.jobs.get(jobKey)?.value.job.groups[at.group]?.tasks ?? {});
  const main = tasks.find((task) => !task.sidecar) ?? tasks[0];
  return main?.name ?? Object.keys(view.get(at.host, at.id)?.tasks ?? {})[0] ?? null;
}
