import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import { allocationCodec, jobCodec, outcomeCodec } from '../../src/wire/records/records.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { RecordedHistory } from '../history/history.ts';

/** What a run came to, without what may differ: ids, hosts, times, and how often something was tried. */
export interface EndState {
  /** By job: `run` or `stop`, then its slots. */
  readonly jobs: Readonly<Record<string, JobEnd>>;
  /** Allocations of jobs that are stopped or gone. */
  readonly leftovers: readonly string[];
  /** Attempts whose process is still there, and their slots. */
  readonly running: readonly string[];
}

interface JobEnd {
  readonly desired: string;
  /** `0: complete 0`, `1: running`: how each slot stands. */
  readonly slots: readonly string[];
}

/** Reads the end of a run from its history. */
export function endStateOf(history: RecordedHistory, keys: CellKeys): EndState {
  const cell = new Map<string, string>();
  for (const { fact } of history.revisions)
    for (const change of fact.changes)
      if (change.kind === 'put') cell.set(change.entry.key, change.entry.value);
      else cell.delete(change.key);
  const under = (prefix: string): string[] =>
    [...cell].filter(([key]) => key.startsWith(prefix)).map(([, value]) => value);
  const allocations = under(keys.allocations).map((text) => allocationCodec.decode(text));
  const outcomes = under(keys.outcomes).map((text) => outcomeCodec.decode(text));
  const jobs: Record<string, JobEnd> = {};
  for (const text of under(keys.jobs)) {
    const { job, desired } = jobCodec.decode(text);
    const slots = Object.values(job.groups).flatMap((group) =>
      Array.from({ length: group.count }, (_, index) => slotEnd(job.name, index, allocations, outcomes)),
    );
    jobs[plainName(job.name)] = { desired, slots };
  }
  const running = stillRunning(history, allocations);
  const leftovers = allocations
    .filter(({ job }) => jobs[plainName(job)]?.desired !== 'run')
    .map(({ job, index }) => slotName(job, index));
  return { jobs, leftovers, running };
}

function slotEnd(
  job: string,
  index: number,
  allocations: readonly Allocation[],
  outcomes: readonly Outcome[],
): string {
  const live = allocations.filter((one) => one.job === job && one.index === index);
  if (live.length > 0) return `${String(index)}: ${live.map(({ desired }) => desired).join(' and ')}`;
  const last = outcomes
    .filter((one) => one.job === job && one.index === index)
    .sort((a, b) => a.attempt - b.attempt)
    .at(-1);
  const exit = last?.exit === undefined ? '' : JSON.stringify(last.exit);
  return `${String(index)}: ${last?.state ?? 'never'} ${exit}`;
}

/** Processes that were started and have not ended, by slot; in a list, so that one too many shows. */
function stillRunning(history: RecordedHistory, allocations: readonly Allocation[]): string[] {
  const open = new Set<string>();
  for (const { fact } of history.hosts) {
    if (fact.kind === 'started') open.add(fact.attempt);
    if (fact.kind === 'ended') open.delete(fact.attempt);
  }
  return [...open]
    .map((attempt) => {
      const found = allocations.find(({ id }) => attempt.startsWith(id));
      return found === undefined ? `stray ${attempt}` : slotName(found.job, found.index);
    })
    .sort();
}

function slotName(job: string, index: number): string {
  return `${plainName(job)}[${String(index)}]`;
}

/** A one-off run's job is named by what was asked for and an id of its own. */
function plainName(job: string): string {
  return job.split('-')[0] ?? job;
}
