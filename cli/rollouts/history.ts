import type { VersionStatus } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { withJob } from '../names/find-job.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { ago, plural } from '../../src/wire/values/words.ts';
import { changesBetween } from './diff.ts';

/** The versions that are kept, the newest first; how many is said to the monitors (`--versions-kept`). */
export async function history(context: Context, written: string): Promise<number> {
  const { answer } = await withJob(context, written, (api, job) => api.history(job));
  const nowMs = context.terminal.nowMs();
  const rows = answer.versions;
  const columns: Column<VersionStatus>[] = [
    { title: 'VERSION', rank: 0, cell: (row) => String(row.version), align: 'right' },
    { title: 'AGE', rank: 1, cell: (row) => ago(nowMs, row.submittedAtMs) },
    { title: 'IS', rank: 1, cell: stateOf },
    { title: 'CHANGED', rank: 2, cell: (row) => changedIn(row, rows[rows.indexOf(row) + 1]) },
  ];
  await printList(context, {
    answer,
    rows,
    columns,
    nameOf: (row) => String(row.version),
    empty: 'no versions',
  });
  return EXIT.ok;
}

function stateOf({ current, good, restores }: VersionStatus): string {
  const words = [
    ...(current ? ['current'] : []),
    ...(good ? ['good'] : []),
    ...(restores === null ? [] : [`version ${String(restores)} again`]),
  ];
  return words.join(', ');
}

const PATHS_SHOWN_MAX = 3;

function changedIn({ job }: VersionStatus, before: VersionStatus | undefined): string {
  if (before === undefined) return '';
  const paths = changesBetween(before.job, job).map(({ path }) => path);
  if (paths.length === 0) return before.job.restartedAtMs === job.restartedAtMs ? '' : 'restarted';
  const more = paths.length - PATHS_SHOWN_MAX;
  return paths.slice(0, PATHS_SHOWN_MAX).join(', ') + (more > 0 ? `, and ${plural(more, 'more')}` : '');
}
