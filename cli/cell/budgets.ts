import type { BudgetKind } from '../../src/core/quota/budgets.ts';
import type { BucketRule } from '../../src/core/quota/token-bucket.ts';
import { parseBudgetFile } from '../../src/wire/budgets/budget-file.ts';
import type { BudgetsAnswer, BudgetStatus, DomainBudget } from '../../src/wire/budgets/budgets.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';

/** So many failure domains are named in one line. */
const EMPTIED_MAX = 5;

interface BudgetRow {
  /** `moves`; of failure domains `moves, each rack` and `moves, rack=r1` */
  readonly name: string;
  readonly rule: BucketRule | null;
  /** null: nothing bounds it. Absent: that is told of each domain. */
  readonly left?: number | null;
}

const COLUMNS: readonly Column<BudgetRow>[] = [
  { title: 'BUDGET', cell: ({ name }) => name },
  { title: 'LEFT', cell: ({ left }) => (left === undefined ? '' : amount(left)), align: 'right' },
  { title: 'BURST', cell: ({ rule }) => amount(rule?.burst), align: 'right' },
  { title: 'PER HOUR', cell: ({ rule }) => amount(rule?.perHour), align: 'right' },
];

/** What the cell may do of its own accord, and what is left of that. */
export async function budgets(context: Context): Promise<number> {
  return await print(context, await (await context.api()).budgets());
}

/** @returns a line of those that something bounds; none while nothing is bounded */
export function budgetLines({ budgets: all }: BudgetsAnswer): readonly string[] {
  const each = all.flatMap(({ kind, rule, left, per }) => [
    ...(rule === null ? [] : [`${kind} ${amount(left)} of ${amount(rule.burst)}`]),
    ...emptied(kind, per),
  ]);
  return each.length === 0 ? [] : [`budgets left: ${each.join(', ')}`];
}

/** Of failure domains those in which something may wait. */
function emptied(kind: BudgetKind, per: DomainBudget | undefined): readonly string[] {
  const empty = per?.domains.filter(({ left }) => left === 0) ?? [];
  if (per === undefined || empty.length === 0) return [];
  const shown = empty.slice(0, EMPTIED_MAX).map(({ value }) => `${per.attribute}=${value}`);
  const more = empty.length > EMPTIED_MAX ? ` and ${String(empty.length - EMPTIED_MAX)} others` : '';
  return [`${kind} 0 of ${String(per.burst)} in ${shown.join(' ')}${more}`];
}

export async function setBudgets(context: Context, file: string): Promise<number> {
  const policy = parseBudgetFile(await readText(file));
  return await print(context, await (await context.api()).setBudgets(policy));
}

async function print(context: Context, answer: BudgetsAnswer): Promise<number> {
  await printList(context, {
    ...{ answer, rows: answer.budgets.flatMap(rowsOf), columns: COLUMNS },
    nameOf: ({ name }) => name,
    empty: 'there are no budgets',
  });
  return EXIT.ok;
}

function rowsOf({ kind, rule, left, per }: BudgetStatus): readonly BudgetRow[] {
  const cell = { name: kind, rule, left };
  if (per === undefined) return [cell];
  const { attribute, domains } = per;
  const each = domains.map((one) => ({
    name: `${kind}, ${attribute}=${one.value}`,
    rule: per,
    left: one.left,
  }));
  return [cell, { name: `${kind}, each ${attribute}`, rule: per }, ...each];
}

function amount(value: number | null | undefined): string {
  return value === null || value === undefined ? 'no bound' : String(value);
}
