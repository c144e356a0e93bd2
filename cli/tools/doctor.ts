import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { coloured } from '../output/colour.ts';
import { printAnswer, tableWidth } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import type { Check } from './machine-checks.ts';
import { machineChecks } from './machine-checks.ts';

const COLOURS = { ok: 32, weak: 33, missing: 31 } as const;

/** Looks whether this machine has what a cell needs. @returns 1 when something is missing */
export async function doctor(context: Context): Promise<number> {
  const checks = await machineChecks(context);
  const isMissing = checks.some(({ state }) => state === 'missing');
  await printAnswer(context, { ok: !isMissing, checks }, { text: () => render(context, checks) });
  return isMissing ? EXIT.workloadFailed : EXIT.ok;
}

function render(context: Context, checks: readonly Check[]): string {
  const table = formatTable(
    [
      { title: 'CHECK', cell: (check: Check) => check.name },
      { title: 'STATE', cell: (check) => check.state },
      { title: 'WHAT', cell: (check) => check.detail },
    ],
    checks,
    tableWidth(context),
  );
  const { colour } = context.terminal;
  const remedies = checks.flatMap(({ name, state, remedy }) =>
    remedy === undefined ? [] : [`${coloured(name, COLOURS[state], colour)}: ${remedy}\n`],
  );
  return remedies.length === 0 ? table : `${table}\nto do:\n${remedies.join('')}`;
}
