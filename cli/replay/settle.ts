import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobListAnswer, JobSummary, SchedulerListAnswer } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Why } from '../../src/wire/api/scheduler-api.ts';
import { CliError, EXIT } from '../command/exit.ts';

export interface Settled {
  readonly placed: number;
  readonly placedNames: readonly string[];
  readonly waitingNames: readonly string[];
  /** Some of the waiting changed until the end: the time was up first. */
  readonly inTime: boolean;
}

export interface SettleOptions {
  readonly namespace: string;
  readonly pods: number;
  readonly signal: AbortSignal;
  readonly sleep: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
  readonly timeoutMs: number;
  readonly onProgress: (placed: number, answer: SchedulerListAnswer) => void;
}

const POLL_MS = 2_000;
const LIST_TIMEOUT_MS = 60_000;
/** Nothing was placed for this long: the pods that still wait, wait for capacity. */
const QUIET_MS = 12_000;

/** Until every pod has a place, or none of the waiting ones gets one any more. */
export async function untilSettled(api: MonitorClient, options: SettleOptions): Promise<Settled> {
  const startMs = options.nowMs();
  let last = '';
  let quietSinceMs = startMs;
  for (;;) {
    const seen = await poll(api, options);
    if (seen === null) {
      if (options.nowMs() - startMs > options.timeoutMs)
        throw new CliError(EXIT.unreachable, 'the monitors are too busy to answer', 'moorage replay --help');
      await options.sleep(POLL_MS);
      continue;
    }
    const [jobs, schedulers] = seen;
    const settled = split(jobs.jobs);
    options.onProgress(settled.placed, schedulers);
    if (settled.placed >= options.pods) return { ...settled, inTime: true };
    const now = options.nowMs();
    const mark = markOf(settled.placed, schedulers);
    if (mark !== last) quietSinceMs = now;
    last = mark;
    if (now - quietSinceMs > QUIET_MS) return { ...settled, inTime: true };
    if (now - startMs > options.timeoutMs || options.signal.aborted) return { ...settled, inTime: false };
    await options.sleep(POLL_MS);
  }
}

/** @returns null while every monitor is too busy to answer; they get as long as the placing itself */
async function poll(
  api: MonitorClient,
  options: SettleOptions,
): Promise<readonly [JobListAnswer, SchedulerListAnswer] | null> {
  try {
    return await Promise.all([
      api.jobs(options.namespace, { timeoutMs: LIST_TIMEOUT_MS }),
      api.schedulers({ timeoutMs: LIST_TIMEOUT_MS }),
    ]);
  } catch (error) {
    const isBusy =
      error instanceof ProblemError && (error.problem.status >= 500 || error.problem.status === 408);
    if (isBusy && !options.signal.aborted) return null;
    throw error;
  }
}

function split(jobs: readonly JobSummary[]): Omit<Settled, 'inTime'> {
  const isPlaced = (job: JobSummary): boolean => job.counts.placed + job.counts.complete > 0;
  const placedNames = jobs.filter(isPlaced).map((job) => job.name);
  const waitingNames = jobs.filter((job) => !isPlaced(job)).map((job) => job.name);
  return { placed: placedNames.length, placedNames, waitingNames };
}

/** Changes with each commit; decisions without a commit do not count. */
function markOf(placed: number, { schedulers }: SchedulerListAnswer): string {
  const sums = schedulers.map((one) => one.committed + one.rebased);
  return [placed, ...sums].join(' ');
}

/** Questions under way at once: for each a scheduler goes through all hosts. */
const WHY_IN_FLIGHT = 4;

/** How many wait for which reason, commonest first. */
export async function reasonsOf(
  api: MonitorClient,
  namespace: string,
  names: readonly string[],
): Promise<(readonly [reason: string, pods: number])[]> {
  const counts = new Map<string, number>();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < names.length) {
      const name = names[next++] ?? '';
      const why = await api.why({ namespace, job: name }).catch(() => null);
      const reason = why === null ? 'no answer' : reasonOf(why);
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: WHY_IN_FLIGHT }, worker));
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** The dimension that most hosts are short of, and what the nearest host lacks. */
function reasonOf(why: Why): string {
  const group = why.groups[0];
  if (group === undefined) return why.summary;
  const nearest = group.hosts[0];
  const short = nearest?.short?.dimension ?? nearest?.check;
  const commonest = group.refusals[0]?.check;
  if (short === undefined && commonest === undefined) return `${group.stage}: ${group.detail}`;
  return `${group.stage}: no host fits (nearest lacks ${short ?? 'nothing'}; most refuse by ${commonest ?? 'nothing'})`;
}
