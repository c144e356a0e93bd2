import { expect, test } from 'vitest';
import { EXIT } from '../../../../cli/command/exit.ts';
import { wait } from '../../../../cli/jobs/wait.ts';
import type { Handler } from '../fakes.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
const ENDED = { for: 'complete,failed,stopped', absentOk: false };

/** A cell with one run, which ends when it was looked at three times. */
function cellWith(job: string): { handler: Handler; looks: () => number } {
  let looks = 0;
  const handler: Handler = (_call, path) => {
    if (path.startsWith('/v1/jobs?')) return { body: { jobs: [{ name: job, oneOff: true }] } };
    if (!path.endsWith(`/${job}`))
      return { status: 404, body: { code: 'no-such-job', detail: 'there is none' } };
    const phase = ++looks > 2 ? 'complete' : 'running';
    return { body: { summary: { phase, type: 'batch', counts: { running: 1, desired: 1 } } } };
  };
  return { handler, looks: () => looks };
}

test('a run is waited for by the name that it was given, and the choice is told', async () => {
  const { context, terminal } = fakeContext(new FakeHttp({ [A]: cellWith('later-d4k24107').handler }), [A]);
  expect(await wait(context, 'later', ENDED)).toBe(EXIT.ok);
  expect(terminal.stderr).toBe('moorage: "later" is later-d4k24107\n');
  expect(terminal.stdout).toBe('complete\n');
});

test('a name of nothing is an error at once', async () => {
  const { context } = fakeContext(new FakeHttp({ [A]: cellWith('later-d4k24107').handler }), [A]);
  await expect(wait(context, 'latre', ENDED)).rejects.toMatchObject({
    exitCode: EXIT.usage,
    message: 'there is no job "latre" in namespace "default"; did you mean "later"?',
  });
});

test('a job that is not there yet is waited for when that is asked for, and said', async () => {
  const cell = cellWith('soon');
  let asked = 0;
  const handler: Handler = (call, path) =>
    asked++ < 3
      ? { status: 404, body: { code: 'no-such-job', detail: 'there is none' } }
      : cell.handler(call, path);
  const { context, terminal } = fakeContext(new FakeHttp({ [A]: handler }), [A]);
  expect(await wait(context, 'soon', { ...ENDED, absentOk: true })).toBe(EXIT.ok);
  expect(terminal.stderr).toBe('moorage: there is no job "soon" yet; waiting for it\n');
  expect(cell.looks()).toBe(3);
});
