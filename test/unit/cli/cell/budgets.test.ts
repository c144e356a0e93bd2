import { expect, test } from 'vitest';
import { budgetLines, budgets } from '../../../../cli/cell/budgets.ts';
import type { BudgetsAnswer } from '../../../../src/wire/budgets/budgets.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
const PER = { attribute: 'rack', burst: 20, perHour: 100 };
const ANSWER: BudgetsAnswer = {
  budgets: [
    {
      ...{ kind: 'replacements', rule: { burst: 200, perHour: 2_000 }, left: 180 },
      per: {
        ...PER,
        domains: [
          { value: '', left: 20 },
          { value: 'r1', left: 0 },
        ],
      },
    },
    { kind: 'moves', rule: null, left: null, per: { ...PER, domains: [] } },
    { kind: 'evictions', rule: null, left: null },
  ],
};

test('S3.40 lists what each failure domain has left that was drawn from', async () => {
  const http = new FakeHttp({ [A]: () => ({ body: ANSWER }) });
  const { context, terminal } = fakeContext(http, [A]);
  expect(await budgets(context)).toBe(0);
  const rows = terminal.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd().split(/ {2,}/));
  expect(rows).toEqual([
    ['BUDGET', 'LEFT', 'BURST', 'PER HOUR'],
    ['replacements', '180', '200', '2000'],
    ['replacements, each rack', '-', '20', '100'],
    ['replacements, rack=', '20', '20', '100'],
    ['replacements, rack=r1', '0', '20', '100'],
    ['moves', 'no bound', 'no bound', 'no bound'],
    ['moves, each rack', '-', '20', '100'],
    ['evictions', 'no bound', 'no bound', 'no bound'],
  ]);
});

test('S3.40 the status names the failure domains in which something may wait', () => {
  expect(budgetLines(ANSWER)).toEqual([
    'budgets left: replacements 180 of 200, replacements 0 of 20 in rack=r1',
  ]);
  expect(budgetLines({ budgets: ANSWER.budgets.slice(1) })).toEqual([]);
});
