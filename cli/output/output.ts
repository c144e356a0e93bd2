import { CliError, EXIT } from '../command/exit.ts';
import type { Terminal } from '../command/terminal.ts';
import type { Column } from './table.ts';
import { formatTable } from './table.ts';

export const OUTPUTS = ['table', 'json', 'yaml', 'name'] as const;
export type Output = (typeof OUTPUTS)[number];

export function outputOf(text: string): Output {
  const found = OUTPUTS.find((output) => output === text);
  if (found === undefined)
    throw new CliError(EXIT.usage, `-o ${text}: expected one of ${OUTPUTS.join(', ')}`, 'moorage help');
  return found;
}

/** A list in the asked form: JSON and YAML are the API's own answer, unchanged. */
export async function printList<T>(
  terminal: Terminal,
  output: Output,
  list: {
    readonly answer: unknown;
    readonly rows: readonly T[];
    readonly columns: readonly Column<T>[];
    readonly nameOf: (row: T) => string;
    /** Said instead of a table without rows. */
    readonly empty: string;
  },
): Promise<void> {
  if (output === 'name') for (const row of list.rows) terminal.out(`${list.nameOf(row)}\n`);
  else if (output !== 'table') await printValue(terminal, output, list.answer);
  else if (list.rows.length === 0) terminal.err(`${list.empty}\n`);
  else terminal.out(formatTable(list.columns, list.rows));
}

/** What a name was given or said: the API's own answer where that is asked for, else the name alone. */
export async function printNamed(
  terminal: Terminal,
  output: Output,
  { name, answer }: { readonly name: string; readonly answer: unknown },
): Promise<void> {
  if (output === 'json' || output === 'yaml') await printValue(terminal, output, answer);
  else terminal.out(`${name}\n`);
}

export async function printValue(terminal: Terminal, output: 'json' | 'yaml', value: unknown): Promise<void> {
  if (output === 'json') terminal.out(`${JSON.stringify(value, null, 2)}\n`);
  else terminal.out((await import('yaml')).stringify(value, { aliasDuplicateObjects: false }));
}
