import type { AllocationStatus, JobSummary } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { withJob } from '../names/find-job.ts';
import { checkedNamespace, jobName, shownName } from '../names/names.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { ago, exitText, gpuShares, portsText, resources } from '../output/words.ts';

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
    { title: 'JOB', cell: (job) => shownName(job.namespace, job.name, usual) },
    { title: 'TYPE', cell: (job) => (job.oneOff ? 'one-off' : job.type) },
    { title: 'PRIO', cell: (job) => String(job.precedence), align: 'right' },
    { title: 'PHASE', cell: (job) => job.phase },
    { title: 'WANTED', cell: (job) => String(job.counts.desired), align: 'right' },
    { title: 'PLACED', cell: (job) => String(job.counts.placed), align: 'right' },
    { title: 'RUNNING', cell: (job) => String(job.counts.running), align: 'right' },
    { title: 'DONE', cell: (job) => String(job.counts.complete), align: 'right' },
    { title: 'FAILED', cell: (job) => String(job.counts.failed), align: 'right' },
    { title: 'OWNER', cell: (job) => job.owner ?? '' },
    { title: 'AGE', cell: (job) => ago(terminal.nowMs(), job.submittedAtMs) },
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
  const api = await context.api();
  const { name, answer } = await withJob(api, jobName(written, context.namespace), async (job) => {
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

export function allocationColumns(nowMs: number): Column<AllocationStatus>[] {
  return [
    { title: 'ALLOCATION', cell: (row) => row.name },
    { title: 'ID', cell: (row) => row.allocation.id },
    { title: 'HOST', cell: (row) => row.allocation.host },
    { title: 'DESIRED', cell: (row) => row.allocation.desired },
    { title: 'STATE', cell: (row) => (row.report?.state ?? 'unreported') + (row.stale ? ' (stale)' : '') },
    { title: 'EXIT', cell: (row) => exitText(row.report?.exit) },
    { title: 'TRY', cell: (row) => String(row.allocation.attempt), align: 'right' },
    { title: 'RESTARTS', cell: (row) => String(row.report?.restarts ?? 0), align: 'right' },
    { title: 'RESOURCES', cell: (row) => resources(row.allocation.resources) },
    { title: 'GPU', cell: (row) => (row.allocation.gpus.length === 0 ? '' : gpuShares(row.allocation.gpus)) },
    { title: 'PORTS', cell: (row) => portsText(row.allocation.ports) },
    { title: 'ADDRESSES', cell: (row) => (row.report?.addresses ?? []).join(',') },
    { title: 'SCHEDULER', cell: (row) => row.allocation.scheduler },
    { title: 'AGE', cell: (row) => ago(nowMs, row.allocation.createdAtMs) },
  ];
}
