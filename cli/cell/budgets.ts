import { parseBudgetFile } from '../../src/wire/budgets/budget-file.ts';
import type { BudgetsAnswer, BudgetStatus } from '../../src/wire/budgets/budgets.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';

const COLUMNS: readonly Column<BudgetStatus>[] = [
  { title: 'BUDGET', cell: ({ kind }) => kind },
  { title: 'LEFT', cell: ({ left }) => amount(left), align: 'right' },
  { title: 'BURST', cell: ({ rule }) => amount(rule?.burst), align: 'right' },
  { title: 'PER HOUR', cell: ({ rule }) => amount(rule?.perHour), align: 'right' },
];

/** What the cell may do of its own accord, and what is left of that. */
export async function budgets(context: Context): Promise<number> {
  return await print(context, await (await context.api()).budgets());
}

/** @returns a line of those that something bounds; none while nothing is bounded */
export function budgetLines({ budgets: all }: BudgetsAnswer): readonly string[] {
  const bounded = all.filter(({ rule }) => rule !== null);
  if (bounded.length === 0) return [];
  const each = bounded.map(({ kind, rule, left }) => `${kind} ${amount(left)} of ${amount(rule?.burst)}`);
  return [`budgets left: ${each.join(', ')}`];
}

export async function setBudgets(context: Context, file: string): Promise<number> {
  const policy = parseBudgetFile(await readText(file));
  return await print(context, await (await context.api()).setBudgets(policy));
}

async function print(context: Context, answer: BudgetsAnswer): Promise<number> {
  await printList(context, {
    ...{ answer, rows: answer.budgets, columns: COLUMNS },
    nameOf: ({ kind }) => kind,
    empty: 'there are no budgets',
  });
  return EXIT.ok;
}

function amount(value: number | null | undefined): string {
  return value === null || value === undefined ? 'no bound' : String(value);
}
