import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/cli.ts';
import { REQUIRED, requirementsPage, stated } from '../support/requirements.ts';

/** Not shown by any test and not ruled out. Only ever shorter. */
const MISSING: readonly string[] = [];

it('test/requirements.md is made of the titles of tests', async () => {
  await expect(requirementsPage().page).toMatchFileSnapshot(join(PROJECT_ROOT, 'test', 'requirements.md'));
});

it('no requirement is missing beside those that are known to be', () => {
  expect(requirementsPage().missing).toEqual(MISSING);
});

it('docs/requirements.md says what each one asks', () => {
  const { says } = stated();
  expect(REQUIRED.filter((id) => !says.has(id))).toEqual([]);
});
