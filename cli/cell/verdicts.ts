import type { RemedyPolicy } from '../../src/core/detector/remedies.ts';
import { suspectText } from '../../src/core/detector/suspects.ts';
import type { RemedyState, Verdict } from '../../src/core/detector/verdict.ts';
import { isVerdictOn } from '../../src/core/detector/verdict.ts';
import { parseRemedyFile } from '../../src/wire/verdicts/remedy-file.ts';
import { ago, duration } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { printAnswer, printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';

/** Who is at fault, with what speaks for it, and what is done about it. */
export async function verdicts(context: Context, all: boolean): Promise<number> {
  const answer = await (await context.api()).verdicts();
  const rows = answer.verdicts.filter((verdict) => all || isVerdictOn(verdict));
  const nowMs = context.terminal.nowMs();
  await printList(context, {
    ...{ answer: { verdicts: rows }, rows, columns: columnsAt(nowMs) },
    nameOf: ({ suspect }) => suspect,
    empty: 'nobody is at fault',
  });
  return EXIT.ok;
}

export async function clearVerdict(context: Context, suspect: string): Promise<number> {
  const answer = await (await context.api()).clearVerdict(suspect);
  const text = (): string =>
    `${suspectText(suspect)} is no longer at fault, and is not found again for an hour; its remedies are undone\n`;
  await printAnswer(context, answer, { name: suspect, text });
  return EXIT.ok;
}

export async function remedies(context: Context): Promise<number> {
  const policy = await (await context.api()).remedies();
  await printAnswer(context, policy, { name: 'remedies', text: () => policyText(policy) });
  return EXIT.ok;
}

export async function setRemedies(context: Context, file: string): Promise<number> {
  const policy = await (await context.api()).setRemedies(parseRemedyFile(await readText(file)));
  await printAnswer(context, policy, { name: 'remedies', text: () => policyText(policy) });
  return EXIT.ok;
}

function columnsAt(nowMs: number): readonly Column<Verdict>[] {
  return [
    { title: 'SUSPECT', cell: ({ suspect }) => suspect },
    { title: 'SINCE', cell: ({ sinceMs }) => ago(nowMs, sinceMs) },
    { title: 'BAD', cell: ({ evidence }) => String(evidence.bad), align: 'right' },
    { title: 'WELL', cell: ({ evidence }) => String(evidence.well), align: 'right' },
    { title: 'HOSTS', cell: ({ evidence }) => String(evidence.hostsTotal), align: 'right' },
    { title: 'JOBS', cell: ({ evidence }) => String(evidence.jobsTotal), align: 'right' },
    { title: 'LIKE IT', cell: likeIt },
    { title: 'REMEDIES', cell: (verdict) => remediesText(verdict) },
  ];
}

/** What it is compared with: `31 well, 0 bad`. */
function likeIt({ evidence: { controlWell, controlBad } }: Verdict): string {
  return `${String(controlWell)} well, ${String(controlBad)} bad`;
}

function remediesText(verdict: Verdict): string {
  if (!isVerdictOn(verdict)) return `over: ${verdict.endedWhy ?? ''}`;
  return verdict.remedies.length === 0 ? 'told only' : verdict.remedies.map(remedyText).join('; ');
}

function remedyText({ remedy, state, detail }: RemedyState): string {
  const how = state === 'applied' ? remedy : `${remedy} ${state}`;
  return detail === '' ? how : `${how} (${detail})`;
}

/** As the file has it that `remedies set` reads. */
function policyText(policy: RemedyPolicy): string {
  const list = (of: readonly string[]): string => `[${of.join(', ')}]`;
  const jobs = Object.entries(policy.jobs).map(([job, of]) => `  ${job}: ${list(of)}\n`);
  return [
    `revision: ${list(policy.revision)}\n`,
    `host: ${list(policy.host)}\n`,
    `domain: ${list(policy.domain)}\n`,
    `share: ${String(policy.sharePercent)}%\n`,
    `perHourMax: ${String(policy.perHourMax)}\n`,
    `quarantine: ${duration(policy.quarantineMs)}\n`,
    `restartEvery: ${duration(policy.restartEveryMs)}\n`,
    ...(jobs.length === 0 ? [] : ['jobs:\n', ...jobs]),
  ].join('');
}
