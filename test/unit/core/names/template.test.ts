import { expect, test } from 'vitest';
import { serving } from '../../../../src/core/names/endpoints.ts';
import { renderTemplate } from '../../../../src/core/names/template.ts';
import { endpoint } from '../../../support/endpoints.ts';

const TEMPLATE =
  'upstream {\n  server {address}:{port}; # {host} {index} {allocation} {other}\n  {empty}server none;\n}\n';

test('a line that names an endpoint stands once for each, one for none only then, others as they are', () => {
  const two = [endpoint(0), endpoint(1, { address: 'fd00::1' })];
  expect(renderTemplate(TEMPLATE, two)).toBe(
    'upstream {\n  server 10.0.0.1:8000; # h0 0 a0 {other}\n  server [fd00::1]:8001; # h1 1 a1 {other}\n}\n',
  );
  expect(renderTemplate(TEMPLATE, [])).toBe('upstream {\n  server none;\n}\n');
});

test('S0.30 an endpoint of a silent host is used only when there is no other', () => {
  const stale = endpoint(0, { staleSinceMs: 5 });
  expect(serving([stale, endpoint(1)])).toEqual([endpoint(1)]);
  expect(serving([stale])).toEqual([stale]);
});
