import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { csvOf } from './report/csv.ts';
import { OutFolder } from './sweep/out-folder.ts';
import { pageHtml } from './report/report.ts';
import type { NamedResult } from './report/named-runs.ts';
import { namedResults, partialText } from './report/named-runs.ts';
import { runPage } from './report/run-page.ts';
import type { RunDesign, RunFlags } from './run-spec.ts';
import { specOf } from './run-spec.ts';
import type { SummaryRow } from './report/summary.ts';
import { SUMMARY_COLUMNS, summaryRows } from './report/summary.ts';
import { sweep } from './sweep/sweep.ts';
import type { WorkloadOptions } from './workload/workload.ts';
import { readWorkload } from './workload/workload.ts';
import { printList } from '../output/output.ts';
import { plural } from '../../src/wire/values/words.ts';

export interface SimRunOptions extends RunFlags, WorkloadOptions {
  readonly out: string;
  readonly threads?: number;
  readonly resume: boolean;
}

/** Runs one workload under each of the designs, prints the numbers and writes the report. */
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
  const results = namedResults(tasks, swept);
  const partial = partialText(tasks, results);
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
  if (partial === null) return EXIT.ok;
  const whole = swept.points.size;
  const next =
    whole === 0
      ? 'the same command begins again'
      : `${plural(whole, 'whole run')} kept; the same command with --resume takes them up and runs the others from the beginning`;
  terminal.err(`${partial}\n${next}\n`);
  return EXIT.signalBase + 2;
}

async function print(context: Context, results: readonly NamedResult[]): Promise<void> {
  const rows = results.flatMap(({ label, result }) => summaryRows(label, result));
  await printList(context, {
    ...{ answer: { runs: results }, rows, columns: SUMMARY_COLUMNS, empty: 'nothing was finished' },
    nameOf: (row: SummaryRow) => row.label,
  });
}
