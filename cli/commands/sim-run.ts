import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { EXIT } from '../exit.ts';
import { csvOf } from '../omega/csv.ts';
import { OutFolder } from '../omega/out-folder.ts';
import { pageHtml } from '../omega/plot/page.ts';
import type { NamedResult } from '../omega/run-page.ts';
import { runPage } from '../omega/run-page.ts';
import type { RunDesign, RunFlags } from '../omega/run-spec.ts';
import { specOf } from '../omega/run-spec.ts';
import type { SummaryRow } from '../omega/summary.ts';
import { SUMMARY_COLUMNS, summaryRows } from '../omega/summary.ts';
import { sweep } from '../omega/sweep.ts';
import { keyOf } from '../omega/task.ts';
import type { WorkloadOptions } from '../omega/workload.ts';
import { readWorkload } from '../omega/workload.ts';
import { printList } from '../output/print.ts';

export interface SimRunOptions extends RunFlags, WorkloadOptions {
  readonly out: string;
  readonly threads?: number;
  readonly resume: boolean;
}

/** Runs one workload under each of the designs, tells the numbers and writes the report. */
export async function simRun(
  context: Context,
  path: string,
  designs: readonly RunDesign[],
  options: SimRunOptions,
): Promise<number> {
  context.endInOrder();
  const { terminal } = context;
  const workload = await readWorkload(terminal.cwd, path, options);
  terminal.err(`${workload.name}: ${workload.note}\n`);
  const folder = new OutFolder(resolve(terminal.cwd, options.out));
  const tasks = designs.map((design) => ({
    ...{ spec: specOf(workload, design, options), trace: workload.trace, name: design },
  }));
  const cpu = process.cpuUsage();
  const threads = options.threads ?? availableParallelism();
  const swept = await sweep(context, folder, tasks, { threads, resume: options.resume });
  const results = tasks.flatMap((task): NamedResult[] => {
    const point = swept.points.get(keyOf(task));
    return point === undefined ? [] : [{ label: task.name, result: point.result }];
  });
  const missing = tasks.length - results.length;
  const partial =
    missing === 0
      ? null
      : `Partial: interrupted before ${String(missing)} of ${String(tasks.length)} runs were over.`;
  const curves = results.map(({ label, result }) => ({
    label,
    cell: 'example' as const,
    points: [{ x: 0, result }],
  }));
  await folder.writeFile('run.csv', csvOf('x', curves));
  const file = await folder.writeFile('report.html', pageHtml(runPage(workload, results, partial)));
  await print(context, results);
  const { user, system } = process.cpuUsage(cpu);
  terminal.err(`${((user + system) / 1e6).toFixed(1)} s of CPU; report: ${file}\n`);
  if (missing > 0)
    terminal.err(
      'interrupted: runs that were over are kept; the same command with --resume runs the others\n',
    );
  return missing === 0 ? EXIT.ok : EXIT.signalBase + 2;
}

async function print({ terminal, output }: Context, results: readonly NamedResult[]): Promise<void> {
  const rows = results.flatMap(({ label, result }) => summaryRows(label, result));
  await printList(terminal, output, {
    ...{ answer: { runs: results }, rows, columns: SUMMARY_COLUMNS, empty: 'nothing was finished' },
    nameOf: (row: SummaryRow) => row.label,
  });
}
