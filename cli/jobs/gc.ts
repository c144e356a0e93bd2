import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import { ago, plural } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { checkedNamespace, shownName } from '../names/names.ts';
import { printList } from '../output/output.ts';
import { readAmount } from '../roles/options.ts';

export interface GcOptions {
  readonly olderThan: string;
  readonly dryRun: boolean;
  readonly allNamespaces: boolean;
}

/** Deletes ended jobs and one-off runs, as `delete` does one; the monitors delete their records, on hosts first. */
export async function gc(context: Context, options: GcOptions): Promise<number> {
  const { terminal, namespace } = context;
  const olderThanMs = readAmount('--older-than', options.olderThan, readDuration, 'gc');
  const api = await context.api();
  const { jobs } = await api.jobs(options.allNamespaces ? undefined : checkedNamespace(namespace));
  const nowMs = terminal.nowMs();
  const ended = jobs.filter(
    ({ endedAtMs, deleted }) =>
      endedAtMs !== undefined && deleted === undefined && nowMs - endedAtMs >= olderThanMs,
  );
  if (!options.dryRun)
    for (const { namespace: of, name } of ended) await api.delete({ namespace: of, job: name });
  const shown = ({ namespace: of, name }: JobSummary): string =>
    shownName(of, name, options.allNamespaces ? '' : namespace);
  await printList(context, {
    answer: { dryRun: options.dryRun, jobs: ended },
    rows: ended,
    columns: [
      { title: 'JOB', rank: 0, cell: shown },
      { title: 'TYPE', rank: 2, cell: (job) => (job.oneOff ? 'one-off' : job.type) },
      { title: 'PHASE', rank: 1, cell: (job) => job.phase },
      { title: 'ENDED', rank: 3, cell: (job) => ago(nowMs, job.endedAtMs) },
    ],
    nameOf: shown,
    empty: 'nothing has ended that long ago',
  });
  if (ended.length > 0)
    terminal.err(
      options.dryRun
        ? `${plural(ended.length, 'job')} would be deleted\n`
        : `${plural(ended.length, 'job')} deleted: the monitors delete their records now\n`,
    );
  return EXIT.ok;
}
