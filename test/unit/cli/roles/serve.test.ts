import { expect, it } from 'vitest';
import { CliError } from '../../../../cli/command/exit.ts';
import type { RunningRole } from '../../../../cli/roles/serve.ts';
import { started } from '../../../../cli/roles/serve.ts';
import { FakeTerminal } from '../fakes.ts';

/** A start, and an order to end, that come when the test says so. @param patience whether it is waited for for ever */
function starting(patience: 'ends' | 'never ends') {
  const terminal = new FakeTerminal();
  const held: { fail?: (error: Error) => void; leave?: () => void } = {};
  const order = new Promise<void>((resolve) => (held.leave = resolve));
  const asked = new Promise<void>((resolve) => {
    terminal.sleep = () => {
      resolve();
      return patience === 'ends' ? Promise.resolve() : new Promise(() => undefined);
    };
  });
  const start = (): Promise<RunningRole> => new Promise((_, reject) => (held.fail = reject));
  const end = started(terminal, order, start);
  return {
    end,
    fail: (error: Error) => held.fail?.(error),
    /** Resolves when the order was heard. */
    leave: (): Promise<void> => {
      held.leave?.();
      return asked;
    },
  };
}

const unkeyed = new CliError(64, 'name the folder with the ticket keys: --keys FOLDER', 'with --keys');

it('a role whose start fails says why, with the status of that', async () => {
  const { fail, end } = starting('never ends');
  fail(unkeyed);
  await expect(end).rejects.toBe(unkeyed);
});

it('a role whose start fails after it was told to end says why, with status 1', async () => {
  const { fail, leave, end } = starting('never ends');
  await leave();
  fail(unkeyed);
  await expect(end).rejects.toMatchObject({
    exitCode: 1,
    message: 'told to end, and failed: name the folder with the ticket keys: --keys FOLDER',
    hint: 'with --keys',
  });
});

it('a role that was told to end and does not come up in time is left behind', async () => {
  const { leave, end } = starting('ends');
  await leave();
  expect(await end).toBeNull();
});
