import { expect, test } from 'vitest';
import { EXIT } from '../../../../cli/command/exit.ts';
import { cliErrorOf } from '../../../../cli/command/problems.ts';

test.each([
  [400, EXIT.badSpec],
  [404, EXIT.usage],
  [409, EXIT.versionConflict],
  [412, EXIT.versionConflict],
  [403, EXIT.unreachable],
  [503, EXIT.unreachable],
])('an answer of %i ends with %i', (status, code) => {
  expect(cliErrorOf({ status, code: 'x', detail: 'why' }).exitCode).toBe(code);
});
