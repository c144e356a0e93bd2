import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RIGHTS } from '../../../../src/core/access/access.ts';
import { PROJECT_ROOT } from '../../../support/cli.ts';
import { rightsTable, servedRoutes, storeTable } from '../../../support/rights-table.ts';

it.each([
  ['the rights of every route', rightsTable],
  ["the rights of the store's users", storeTable],
])('docs/security.md shows %s', (_what, table) => {
  const document = readFileSync(join(PROJECT_ROOT, 'docs', 'security.md'), 'utf8');
  expect(document).toContain(table());
});

it('no right is of no route', () => {
  expect(RIGHTS.filter((right) => !servedRoutes().some((route) => route.right === right))).toEqual([]);
});
