import type { Outcome } from '../../src/core/cell/allocation.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { restartsText } from '../../src/core/slots/restarts.ts';
import { endedInPlace, notReadyOf } from '../../src/core/slots/rollout.ts';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { shownName } from '../names/names.ts';
import { printAnswer, tableWidth } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { formatTable } from '../output/table.ts';
import { ago, duration, exitText, plural, storeAwayText } from '../../src/wire/values/words.ts';
import { withJob } from '../names/find-job.ts';
import { allocationColumns } from '../output/allocations.ts';
import { phaseText, wantedText } from './ps.ts';

/** Rows of ended allocations that a person can take in; `-o json` has all. */
const OUTCOMES_SHOWN_MAX = 20;

export async function status(context: Context, written: string): Promise<number> {
  const { name, answer } = await withJob(context, written, async (api, job) => {
    const found = await api.status(job);
    return isMixed(found) ? { ...found, update: await updateOf(api, job) } : found;
  });
  await printAnswer(context, answer, {
    name: shownName(name.namespace, name.job, context.namespace),
    text: () => render(context, answer, name.job),
  });
  return 0;
}

/** How far an update is, and why it waits; only of jobs that have one under way. */
interface Shown extends JobStatus {
  readonly update?: readonly string[];
}

/** Are there allocations of another version than the present one? */
function isMixed({ summary, allocations }: JobStatus): boolean {
  return allocations.some(
    ({ allocation }) => allocation.desired === 'run' && allocation.jobVersion !== summary.version,
  );
}

async function updateOf(api: MonitorClient, job: JobRef): Promise<readonly string[]> {
  const { groups } = await api.why(job);
  return groups.flatMap(({ group, stage, detail }) => (stage === 'updating' ? [`${group}: ${detail}`] : []));
}

function render(context: Context, answer: Shown, written: string): string {
  const nowMs = context.terminal.nowMs();
  const width = tableWidth(context);
  const { summary, outcomes } = answer;
  const { counts } = summary;
  const kind = summary.oneOff ? 'one-off' : summary.type;
  const lines = [
    `${summary.name}: ${phaseText(summary, nowMs)}  (${kind}, version ${String(summary.version)}, priority ${String(summary.precedence)})`,
    `  wanted ${wantedText(counts)}, placed ${String(counts.placed)}, running ${String(counts.running)}, ` +
      `complete ${String(counts.complete)}, failed ${String(counts.failed)}`,
    ...(summary.restarts.count === 0 ? [] : [`  started again ${restartsText(summary.restarts)}`]),
    `  owner ${summary.owner ?? 'none'}, submitted ${ago(nowMs, summary.submittedAtMs)} ago`,
  ];
  for (const line of answer.update ?? []) lines.push(`  update of ${line}`);
  for (const { name, report } of answer.allocations) {
    if (report === null) continue;
    const [notReady, ended] = [notReadyOf(report), endedInPlace(report)];
    if (notReady !== null) lines.push(`  ${name} is not ready: ${notReady}`);
    if (ended !== null) lines.push(`  ${name} has ended: ${ended}`);
  }
  const { storeAwaySinceMs: away } = answer;
  if (away !== undefined) lines.push(`  ${storeAwayText(nowMs, away)}`);
  for (const { detail } of answer.silentHosts ?? []) lines.push(`  ${detail}`);
  const tables: string[] = [];
  if (answer.allocations.length > 0)
    tables.push(formatTable(allocationColumns(nowMs), answer.allocations, width));
  const ended = [...outcomes].sort((a, b) => b.endedAtMs - a.endedAtMs);
  if (ended.length > 0)
    tables.push(formatTable(outcomeColumns(nowMs), ended.slice(0, OUTCOMES_SHOWN_MAX), width));
  if (ended.length > OUTCOMES_SHOWN_MAX)
    tables.push(
      `and ${plural(ended.length - OUTCOMES_SHOWN_MAX, 'earlier end')}; all: moorage status ${written} -o json\n`,
    );
  if (summary.phase === 'pending') tables.push(`nothing is placed yet; ask: moorage why ${written}\n`);
  return [`${lines.join('\n')}\n`, ...tables].join('\n');
}

function outcomeColumns(nowMs: number): Column<Outcome>[] {
  return [
    { title: 'ENDED', cell: (row) => slotName(row.job, row.group, row.index) },
    { title: 'TRY', cell: (row) => String(row.attempt), align: 'right' },
    { title: 'HOST', cell: (row) => row.host },
    { title: 'STATE', cell: (row) => row.state },
    { title: 'EXIT', cell: (row) => exitText(row.exit) },
    {
      title: 'RAN',
      cell: (row) => (row.startedAtMs === undefined ? '' : duration(row.endedAtMs - row.startedAtMs)),
    },
    { title: 'AGO', cell: (row) => ago(nowMs, row.endedAtMs) },
    { title: 'REASON', cell: (row) => row.reason },
  ];
}
