import type { Shortfall } from '../../src/core/cell/resources.ts';
import type { HostRefusal, Why, WhyGroup } from '../../src/wire/api/scheduler-api.ts';
import type { Context } from '../command/context.ts';
import { printAnswer, tableWidth } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { cores, duration, gpus, plural, size } from '../../src/wire/values/words.ts';
import { withJob } from '../names/find-job.ts';

/** Why a job is not where it should be: one line, then which check refused how many hosts, then host by host. */
export async function why(context: Context, written: string): Promise<number> {
  const { answer } = await withJob(context, written, (api, job) => api.why(job));
  const text = (): string => renderWhy(answer, context.terminal.nowMs(), tableWidth(context));
  await printAnswer(context, answer, { name: answer.summary, text });
  return 0;
}

export function renderWhy(answer: Why, nowMs: number, width: number | null = null): string {
  // A short form's only group has the job's name, and the summary may begin with it.
  const { job, summary } = answer;
  const head = summary.startsWith(`${job}: `) ? `${summary}\n` : `${job}: ${summary}\n`;
  const waiting = answer.groups.filter((group) => group.pending > 0 || !SETTLED.has(group.stage));
  return [head, ...waiting.map((group) => renderGroup(group, nowMs, width))].join('\n');
}

/** Stages of a group that has nothing to explain. */
const SETTLED: ReadonlySet<string> = new Set(['running', 'complete', 'failed', 'stopped']);

function renderGroup(group: WhyGroup, nowMs: number, width: number | null): string {
  const next = nextTry(group, nowMs);
  const tried = `  tried ${plural(group.tries, 'time')}, ${plural(group.conflicts, 'conflict')}`;
  const lines = [
    `group ${group.group}: ${group.stage}, ${plural(group.pending, 'allocation')} without a place`,
    `  ${group.detail}`,
    group.pending === 0 ? tried : `${tried}; ${next}`,
  ];
  if (group.pending > 0 && group.hostsTotal > 0) lines.push(`  ${fitting(group)}`);
  const nearest = group.hosts[0];
  if (nearest !== undefined) lines.push(`  nearest miss: ${nearest.host} ${missing(nearest)}`);
  const parts = [`${lines.join('\n')}\n`];
  if (group.refusals.length > 0) parts.push(formatTable(REFUSALS, group.refusals, width));
  if (group.hosts.length > 0) parts.push(formatTable(HOSTS, group.hosts, width));
  const refusing = group.refusals.reduce((sum, refusal) => sum + refusal.hosts, 0);
  const left = refusing - group.hosts.length;
  if (left > 0) parts.push(`and ${plural(left, 'more host')} that cannot take it\n`);
  return parts.join('\n');
}

/** Every host that refuses is counted once, at the first check that it fails. */
function fitting({ hostsTotal, refusals, gang, fits: count }: WhyGroup): string {
  // Hosts that take one say nothing of a gang.
  if (gang === true && count !== undefined)
    return (
      `${String(count.now)} of ${String(count.pending)} fit at once now, ` +
      `${String(count.whenEmpty)} of ${String(count.count)} when nothing else runs`
    );
  const fits = hostsTotal - refusals.reduce((sum, refusal) => sum + refusal.hosts, 0);
  const hosts = plural(hostsTotal, 'host');
  if (fits === 0) return `none of ${hosts} fits now`;
  return `${String(fits)} of ${hosts} ${fits === 1 ? 'fits' : 'fit'} now`;
}

function nextTry({ stage, nextTryMs: atMs }: WhyGroup, nowMs: number): string {
  if (stage === 'paused') return 'next try when placement goes on';
  if (atMs === null) return 'next try when something that could fit changes';
  return atMs <= nowMs ? 'next try now' : `next try in ${duration(atMs - nowMs)}`;
}

function missing(refusal: HostRefusal): string {
  return refusal.short === undefined ? `(${refusal.detail})` : lacks(refusal.short);
}

/** `lacks 300Mi memory (needs 512Mi, has 212Mi)` */
export function lacks(short: Shortfall): string {
  const show = shower(short.dimension);
  const lack = show(short.needed - short.available);
  return `lacks ${lack} ${short.dimension} (needs ${show(short.needed)}, has ${show(short.available)})`;
}

function shower(dimension: string): (amount: number) => string {
  if (dimension === 'cpu') return cores;
  if (dimension === 'memory' || dimension === 'disk') return size;
  return dimension === 'gpu' ? gpus : String;
}

const REFUSALS = [
  { title: 'CHECK', cell: (row: { check: string }) => row.check },
  { title: 'HOSTS', cell: (row: { hosts: number }) => String(row.hosts), align: 'right' },
] as const;

const HOSTS = [
  { title: 'HOST', cell: (row: HostRefusal) => row.host },
  { title: 'CHECK', cell: (row: HostRefusal) => row.check },
  { title: 'WHY', cell: (row: HostRefusal) => (row.short === undefined ? row.detail : lacks(row.short)) },
] as const;
