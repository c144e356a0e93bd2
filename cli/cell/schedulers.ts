import type { SchedulerStatus } from '../../src/wire/api/scheduler-api.ts';
import type { Context } from '../command/context.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';

/** The competing schedulers side by side: what they did, how often they met, how busy they are. */
export async function schedulers(context: Context): Promise<number> {
  const { terminal } = context;
  const answer = await (await context.api()).schedulers();
  await printList(context, {
    answer,
    rows: answer.schedulers,
    columns: SCHEDULER_COLUMNS,
    nameOf: (row) => row.id,
    empty: 'no schedulers; start one with: moorage scheduler --kind batch --etcd ADDRESS',
  });
  for (const { id, storeTrouble } of answer.schedulers)
    if (storeTrouble !== null) terminal.err(`${id}: its commits wait: ${storeTrouble}\n`);
  for (const id of answer.unreachable) terminal.err(`${id}: does not answer\n`);
  return 0;
}

const number = (title: string, cell: (row: SchedulerStatus) => number): Column<SchedulerStatus> => ({
  title,
  cell: (row) => String(cell(row)),
  align: 'right',
});

export const SCHEDULER_COLUMNS: readonly Column<SchedulerStatus>[] = [
  { title: 'SCHEDULER', cell: (row) => row.id },
  { title: 'KIND', cell: (row) => row.kind },
  number('JOBS', (row) => row.jobsOwned),
  number('PENDING', (row) => row.pending),
  number('DECISIONS', (row) => row.decisions),
  number('COMMITTED', (row) => row.committed),
  number('REBASED', (row) => row.rebased),
  number('CONFLICTS', (row) => row.conflicted),
  { title: 'CONFLICT%', cell: conflictShare, align: 'right' },
  number('UNKNOWN', (row) => row.unknownResolved),
  number('NO-TICKET', (row) => row.ticketsRefused),
  number('NO-START', (row) => row.startsRefused),
  { title: 'BUSY', cell: (row) => `${(100 * row.busyFraction).toFixed(0)}%`, align: 'right' },
  { title: 'COMMIT-P50', cell: (row) => milliseconds(row.commitP50Ms), align: 'right' },
  { title: 'P99', cell: (row) => milliseconds(row.commitP99Ms), align: 'right' },
];

function conflictShare(row: SchedulerStatus): string {
  const all = row.committed + row.rebased + row.conflicted;
  return all === 0 ? '' : `${((100 * row.conflicted) / all).toFixed(1)}%`;
}

function milliseconds(ms: number | null): string {
  return ms === null ? '' : `${ms.toFixed(1)}ms`;
}
