import { expect, test } from 'vitest';
import { events } from '../../../../cli/cell/events.ts';
import { CliError, EXIT } from '../../../../cli/command/exit.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
/** As the terminal of the tests has it. */
const NOW_MS = 1_000_000;

function cell(): FakeHttp {
  const at = (agoMs: number, id: string) =>
    JSON.stringify({ id, atMs: NOW_MS - agoMs, kind: 'placed', source: 'batch-1', detail: id });
  return new FakeHttp({ [A]: () => ({ chunks: [at(900_000, '1.0'), '\n', at(60_000, '2.0'), '\n'] }) });
}

test('a time such as 10m shows what happened since then', async () => {
  const { context, terminal } = fakeContext(cell(), [A]);
  expect(await events(context, { follow: false, since: '10m' })).toBe(0);
  expect(terminal.stdout).toContain('2.0');
  expect(terminal.stdout).not.toContain('1.0');
});

test('what is neither an id nor a time is refused, and says what is meant', async () => {
  const { context } = fakeContext(cell(), [A]);
  const error: unknown = await events(context, { follow: false, since: 'yesterday' }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CliError);
  expect(error).toMatchObject({
    exitCode: EXIT.usage,
    message: expect.stringContaining('yesterday') as string,
  });
});

test('I52 who follows from now on goes on after a break from where the first stream began', async () => {
  const asked: string[] = [];
  const leave = new AbortController();
  const http = new FakeHttp({
    [A]: (_call, path) => {
      asked.push(new URL(path, A).searchParams.get('since') ?? '');
      if (asked.length === 3) leave.abort();
      return { revision: 479 + asked.length, chunks: ['\n', 'cut'] };
    },
  });
  const { context } = fakeContext(http, [A]);
  expect(await events({ ...context, interrupted: leave.signal }, { follow: true })).toBe(0);
  expect(asked).toEqual(['now', '480', '480']);
});

test('a kind that no event has is told, with those that there are', async () => {
  const { context, terminal } = fakeContext(cell(), [A]);
  expect(await events(context, { follow: false, kind: 'plased' })).toBe(0);
  expect(terminal.stderr).toBe('none of kind plased; there are: placed\n');
});
