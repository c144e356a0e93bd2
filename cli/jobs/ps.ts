import type { AllocationStatus, JobSummary } from '../../src/wire/api/monitor-api.ts';
import { isLooping } from '../../src/core/slots/restarts.ts';
import { readyOf } from '../../src/core/slots/rollout.ts';
import type { Context } from '../command/context.ts';
import { withJob } from '../names/find-job.ts';
import { checkedNamespace, shownName } from '../names/names.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { ago, exitText, gpuShares, portsText, resources } from '../../src/wire/values/words.ts';

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
    { title: 'WANTED', rank: 6, cell: (job) => String(job.counts.desired), align: 'right' },
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

/** What starts again and again is not up, whatever its phase is at the moment. */
export function phaseText({ phase, restarts, deleted }: JobSummary, nowMs: number): string {
  if (deleted === true) return `${phase} (deleting)`;
  return (phase === 'running' || phase === 'pending') && isLooping(restarts, nowMs) ? 'looping' : phase;
}

function stateText({ report, restarts, stale }: AllocationStatus, nowMs: number): string {
  const state = report?.state ?? 'unreported';
  const shown = state === 'running' && isLooping(restarts, nowMs) ? 'looping' : state;
  return shown + (stale ? ' (stale)' : '');
}

/** Of one with health checks. */
function readyText({ report }: AllocationStatus): string {
  const ready = report === null ? null : readyOf(report);
  if (ready === null) return '';
  return ready ? 'yes' : 'no';
}

export function allocationColumns(nowMs: number): Column<AllocationStatus>[] {
  return [
    { title: 'ALLOCATION', rank: 0, cell: (row) => row.name },
    { title: 'ID', rank: 9, cell: (row) => row.allocation.id },
    { title: 'HOST', rank: 2, cell: (row) => row.allocation.host },
    { title: 'DESIRED', rank: 7, cell: (row) => row.allocation.desired },
    { title: 'STATE', rank: 1, cell: (row) => stateText(row, nowMs) },
    { title: 'READY', rank: 2, cell: (row) => readyText(row) },
    { title: 'EXIT', rank: 4, cell: (row) => exitText(row.report?.exit) },
    { title: 'TRY', rank: 8, cell: (row) => String(row.allocation.attempt), align: 'right' },
    { title: 'RESTARTS', rank: 3, cell: (row) => String(row.restarts.count), align: 'right' },
    { title: 'LAST EXIT', rank: 5, cell: (row) => exitText(row.restarts.lastExit) },
    { title: 'RESOURCES', rank: 10, cell: (row) => resources(row.allocation.resources) },
    {
      title: 'GPU',
      rank: 12,
      cell: (row) => (row.allocation.gpus.length === 0 ? '' : gpuShares(row.allocation.gpus)),
    },
    { title: 'PORTS', rank: 11, cell: (row) => portsText(row.allocation.ports) },
    { title: 'ADDRESSES', rank: 13, cell: (row) => (row.report?.addresses ?? []).join(',') },
    { title: 'SCHEDULER', rank: 14, cell: (row) => row.allocation.scheduler },
    { title: 'AGE', rank: 6, cell: (row) => ago(nowMs, row.allocation.createdAtMs) },
  ];
}
