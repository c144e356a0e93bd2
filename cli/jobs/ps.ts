import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import { isLooping } from '../../src/core/slots/restarts.ts';
import type { Context } from '../command/context.ts';
import { withJob } from '../names/find-job.ts';
import { checkedNamespace, shownName } from '../names/names.ts';
import { allocationColumns } from '../output/allocations.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { ago } from '../../src/wire/values/words.ts';

/** Jobs; with a name, that job's allocations. */
export async function ps(
  context: Context,
  job: string | undefined,
  options: { all: boolean },
): Promise<number> {
  return job === undefined ? await listJobs(context, options.all) : await listAllocations(context, job);
}

async function listJobs(context: Context, everywhere: boolean): Promise<number> {
  const { terminal, namespace } = context;
  const api = await context.api();
  const answer = await api.jobs(everywhere ? undefined : checkedNamespace(namespace));
  const usual = everywhere ? '' : namespace;
  const columns: Column<JobSummary>[] = [
    { title: 'JOB', rank: 0, cell: (job) => shownName(job.namespace, job.name, usual) },
    { title: 'TYPE', rank: 4, cell: (job) => (job.oneOff ? 'one-off' : job.type) },
    { title: 'PRIO', rank: 9, cell: (job) => String(job.precedence), align: 'right' },
    { title: 'PHASE', rank: 1, cell: (job) => phaseText(job, terminal.nowMs()) },
    { title: 'WANTED', rank: 6, cell: (job) => wantedText(job.counts), align: 'right' },
    { title: 'PLACED', rank: 8, cell: (job) => String(job.counts.placed), align: 'right' },
    { title: 'RUNNING', rank: 2, cell: (job) => String(job.counts.running), align: 'right' },
    { title: 'READY', rank: 3, cell: (job) => String(job.counts.ready ?? ''), align: 'right' },
    { title: 'DONE', rank: 7, cell: (job) => String(job.counts.complete), align: 'right' },
    { title: 'FAILED', rank: 5, cell: (job) => String(job.counts.failed), align: 'right' },
    { title: 'RESTARTS', rank: 3, cell: (job) => String(job.restarts.count), align: 'right' },
    { title: 'OWNER', rank: 10, cell: (job) => job.owner ?? '' },
    { title: 'AGE', rank: 4, cell: (job) => ago(terminal.nowMs(), job.submittedAtMs) },
  ];
  await printList(context, {
    answer,
    rows: answer.jobs,
    columns,
    nameOf: (job) => shownName(job.namespace, job.name, usual),
    empty: 'no jobs; submit one with: moorage run examples/hello.yaml',
  });
  return 0;
}

async function listAllocations(context: Context, written: string): Promise<number> {
  const { name, answer } = await withJob(context, written, async (api, job) => {
    const listed = await api.allocations(job);
    // An empty list may mean that there is no such job: then `status` fails with that.
    if (listed.allocations.length === 0) await api.status(job);
    return listed;
  });
  await printList(context, {
    answer,
    rows: answer.allocations,
    columns: allocationColumns(context.terminal.nowMs()),
    nameOf: (row) => row.allocation.id,
    empty: `nothing of "${name.job}" is placed; ask: moorage why ${name.job}`,
  });
  return 0;
}

/** `3`; of a job that grows into idle capacity `2..10` */
export function wantedText({ desired, desiredMax }: JobSummary['counts']): string {
  return desiredMax === undefined ? String(desired) : `${String(desired)}..${String(desiredMax)}`;
}

/** What starts again and again is not up, whatever its phase is at the moment. */
export function phaseText({ phase, restarts, deleted }: JobSummary, nowMs: number): string {
  if (deleted === true) return `${phase} (deleting)`;
  return (phase === 'running' || phase === 'pending') && isLooping(restarts, nowMs) ? 'looping' : phase;
}
