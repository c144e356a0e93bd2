import type { AuditRecord } from '../../src/core/access/audit.ts';
import { AUDIT_ANSWER_MAX } from '../../src/wire/access/audit-api.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context, GlobalOptions } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printList } from '../output/output.ts';

export interface AuditFlags extends Pick<GlobalOptions, 'namespace'> {
  readonly by?: string;
  readonly act?: string;
  readonly target?: string;
  readonly since?: string;
  readonly limit?: number;
}

/** Who did what, the newest last. */
export async function audit(context: Context, flags: AuditFlags): Promise<number> {
  const { by, act, target, namespace, limit } = flags;
  const since = flags.since === undefined ? undefined : context.terminal.nowMs() - agoMs(flags.since);
  const answer = await (
    await context.api()
  ).audit({
    ...{ ...(by === undefined ? {} : { by }), ...(act === undefined ? {} : { act }) },
    ...{ ...(target === undefined ? {} : { target }), ...(namespace === undefined ? {} : { namespace }) },
    ...{ ...(since === undefined ? {} : { since }), ...(limit === undefined ? {} : { limit }) },
  });
  await printList<AuditRecord>(context, {
    answer,
    rows: answer.records,
    columns: [
      { title: 'TIME', cell: ({ atMs }) => new Date(atMs).toISOString() },
      { title: 'BY', cell: ({ by: who, name }) => (name === undefined ? who : `${who} (${name})`) },
      { title: 'ACT', cell: ({ act: done }) => done },
      { title: 'TARGET', cell: targetText },
      { title: 'RESULT', cell: ({ refused }) => (refused === undefined ? '' : `refused: ${refused}`) },
      ...(context.wide
        ? [
            { title: 'REQUEST', cell: ({ requestId }: AuditRecord) => requestId },
            { title: 'AT', cell: ({ monitor }: AuditRecord) => monitor },
          ]
        : []),
      { title: 'DETAIL', cell: ({ detail }) => detail ?? '' },
    ],
    nameOf: ({ id }) => id,
    empty: 'nothing of that kind was done',
  });
  if (answer.isCut && context.output === 'table')
    context.terminal.err(`there are older ones: --limit shows up to ${String(AUDIT_ANSWER_MAX)}\n`);
  return EXIT.ok;
}

function targetText({ namespace, target }: AuditRecord): string {
  return namespace === undefined || namespace === target ? target : `${namespace}/${target}`;
}

function agoMs(text: string): number {
  const reading = readDuration(text);
  if (reading.ok) return reading.value;
  throw usageError(`--since: ${reading.text}`, '--since 2h');
}
