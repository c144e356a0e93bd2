/**
 * How a command prints its answer: in the form that `--output` asks for. JSON and YAML are the API's own answer, unchanged.
 *
 * - `table.ts` makes plain columns, and writes control characters as escapes.
 * - `allocations.ts` has the columns of allocations.
 * - `colour.ts` colours names and alarms on a terminal.
 * - `bar.ts` draws a progress bar on a terminal.
 */
import type { Context } from '../command/context.ts';
import type { Column } from './table.ts';
import { formatTable } from './table.ts';

export async function printList<T>(
  context: Context,
  list: {
    readonly answer: unknown;
    readonly rows: readonly T[];
    readonly columns: readonly Column<T>[];
    readonly nameOf: (row: T) => string;
    /** Printed instead of a table without rows. */
    readonly empty: string;
  },
): Promise<void> {
  const { terminal, output } = context;
  if (output === 'name') for (const row of list.rows) terminal.out(`${list.nameOf(row)}\n`);
  else if (output !== 'table') terminal.out(await valueText(output, list.answer));
  else if (list.rows.length === 0) terminal.err(`${list.empty}\n`);
  else terminal.out(formatTable(list.columns, list.rows, tableWidth(context)));
}

/** Of the terminal; null, all of everything, for a pipe or a file and with `-o wide`. */
export function tableWidth({ terminal, wide }: Context): number | null {
  return wide ? null : terminal.columns;
}

/** @param name a line for `-o name`; null: `text` serves there too */
export async function printAnswer(
  { terminal, output }: Context,
  answer: unknown,
  { name = null, text }: { readonly name?: string | null; readonly text: () => string },
): Promise<void> {
  if (output === 'json' || output === 'yaml') terminal.out(await valueText(output, answer));
  else terminal.out(output === 'name' && name !== null ? `${name}\n` : text());
}

export async function valueText(form: 'json' | 'yaml', value: unknown): Promise<string> {
  if (form === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  return (await import('yaml')).stringify(value, { aliasDuplicateObjects: false });
}
