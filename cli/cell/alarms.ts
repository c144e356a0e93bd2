import type { Alarm } from '../../src/wire/api/cell-api.ts';
import { duration } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';

/** What somebody should look at, with the reason. */
export async function alarms(context: Context): Promise<number> {
  const answer = await (await context.api()).alarms();
  const nowMs = context.terminal.nowMs();
  const columns: readonly Column<Alarm>[] = [
    { title: 'ALARM', cell: ({ kind }) => kind },
    { title: 'ABOUT', cell: ({ subject }) => subject },
    { title: 'FOR', cell: ({ sinceMs }) => duration(Math.max(0, nowMs - sinceMs)) },
    { title: 'WHY', cell: ({ detail }) => detail },
  ];
  await printList(context, {
    ...{ answer, rows: answer.alarms, columns },
    nameOf: ({ subject }) => subject,
    empty: `no alarms: no job has waited, stopped or looped for ${duration(answer.afterMs)}`,
  });
  return EXIT.ok;
}
