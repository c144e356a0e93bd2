import type { AllocationStatus } from '../../src/wire/api/monitor-api.ts';
import type { AllocationUsage, CellUsage } from '../../src/wire/api/usage-api.ts';
import type { Context } from '../command/context.ts';
import { withJob } from '../names/find-job.ts';
import { checkedNamespace } from '../names/names.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { cores, size, usedOf } from '../../src/wire/values/words.ts';

/** CPU is a rate: what was used between two readings this far apart. */
const BETWEEN_MS = 1_000;
const MIB = 1024 * 1024;

/** What one allocation requested and uses. Null: its host does not measure it, or does not answer. */
export interface TopRow {
  readonly name: string;
  readonly allocation: string;
  readonly host: string;
  readonly cpuMilliRequested: number;
  readonly cpuMilliUsed: number | null;
  readonly memoryMibRequested: number;
  readonly memoryMibUsed: number | null;
  readonly pids: number | null;
}

/** Requested and used, side by side, of one job's allocations or of all in the namespace. */
export async function top(
  context: Context,
  job: string | undefined,
  options: { all: boolean },
): Promise<number> {
  const { terminal } = context;
  const which = await whichOf(context, job, options.all);
  const api = await context.api();
  const before = await api.usage(which);
  await terminal.sleep(BETWEEN_MS, context.interrupted);
  const [after, { allocations }] = await Promise.all([api.usage(which), api.allocations(which)]);
  const rows = topRows(allocations, before, after);
  await printList(context, {
    answer: { allocations: rows, unreachable: after.unreachable },
    rows,
    columns: COLUMNS,
    nameOf: (row) => row.allocation,
    empty: 'nothing runs; see: moorage ps',
  });
  for (const host of after.unreachable) terminal.err(`${host}: does not say what it uses\n`);
  return 0;
}

async function whichOf(context: Context, job: string | undefined, everywhere: boolean) {
  if (job === undefined) return everywhere ? {} : { namespace: checkedNamespace(context.namespace) };
  return (await withJob(context, job, (api, name) => api.status(name))).name;
}

/** The largest use of CPU first. */
export function topRows(
  allocations: readonly AllocationStatus[],
  before: CellUsage,
  after: CellUsage,
): readonly TopRow[] {
  const [first, second] = [byId(before), byId(after)];
  const rows = allocations
    .filter(({ report }) => report === null || report.endedAtMs === undefined)
    .map(({ name, allocation }): TopRow => {
      const [then, now] = [first.get(allocation.id), second.get(allocation.id)];
      const bytes = now?.usage.memoryBytes ?? null;
      return {
        ...{ name, allocation: allocation.id, host: allocation.host },
        cpuMilliRequested: allocation.resources.cpuMilli,
        cpuMilliUsed: cpuBetween(then, now),
        memoryMibRequested: allocation.resources.memoryMib,
        memoryMibUsed: bytes === null ? null : Math.round(bytes / MIB),
        pids: now?.usage.pids ?? null,
      };
    });
  return rows.sort((a, b) => (b.cpuMilliUsed ?? -1) - (a.cpuMilliUsed ?? -1) || a.name.localeCompare(b.name));
}

interface Sample {
  readonly atMs: number;
  readonly usage: AllocationUsage;
}

function byId(usage: CellUsage): Map<string, Sample> {
  return new Map(
    usage.hosts.flatMap(({ atMs, allocations }) =>
      allocations.map((one): [string, Sample] => [one.id, { atMs, usage: one }]),
    ),
  );
}

/** @returns null when it was not there both times, or a task was started again between: its time began anew */
function cpuBetween(then: Sample | undefined, now: Sample | undefined): number | null {
  const [from, to] = [then?.usage.cpuMs ?? null, now?.usage.cpuMs ?? null];
  if (from === null || to === null || then === undefined || now === undefined || to < from) return null;
  return now.atMs <= then.atMs ? null : Math.round((1000 * (to - from)) / (now.atMs - then.atMs));
}

const COLUMNS: readonly Column<TopRow>[] = [
  { title: 'ALLOCATION', cell: (row) => row.name },
  { title: 'HOST', cell: (row) => row.host },
  { title: 'CPU', cell: (row) => beside(row.cpuMilliUsed, row.cpuMilliRequested, cores), align: 'right' },
  { title: 'MEMORY', cell: (row) => beside(row.memoryMibUsed, row.memoryMibRequested, size), align: 'right' },
  { title: 'PROCESSES', cell: (row) => (row.pids === null ? '?' : String(row.pids)), align: 'right' },
];

function beside(used: number | null, requested: number, show: (amount: number) => string): string {
  return used === null ? `?/${show(requested)}` : usedOf(used, requested, show);
}
