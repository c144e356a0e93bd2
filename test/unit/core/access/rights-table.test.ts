import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RIGHTS } from '../../../../src/core/access/access.ts';
import { PROJECT_ROOT } from '../../../support/cli.ts';
import { rightsTable, servedRoutes } from '../../../support/rights-table.ts';

it('docs/security.md shows the rights of every route', () => {
  const document = readFileSync(join(PROJECT_ROOT, 'docs', 'security.md'), 'utf8');
  expect(document).toContain(rightsTable());
});

it('no right is of no route', () => {
  expect(RIGHTS.filter((right) => !servedRoutes().some((route) => route.right === right))).toEqual([]);
});
