import { expect, test } from 'vitest';
import { EXIT } from '../../../../cli/command/exit.ts';
import { withJob } from '../../../../cli/names/find-job.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';

/** A cell with jobs of these names; those with `*` are one-off runs. */
function cellOf(...written: readonly string[]) {
  const names = written.map((name) => name.replace('*', ''));
  const jobs = names.map((name, n) => ({ name, oneOff: written[n]?.endsWith('*') }));
  const http = new FakeHttp({
    [A]: (_call, path) => {
      if (path.startsWith('/v1/jobs?')) return { body: { jobs } };
      const job = path.split('/').at(-1) ?? '';
      if (names.includes(job)) return { body: { summary: { name: job } } };
      return { status: 404, body: { code: 'no-such-job', detail: 'there is none' } };
    },
  });
  const { context, terminal } = fakeContext(http, [A]);
  const find = (name: string) => withJob(context, name, (api, job) => api.status(job));
  return Object.assign(find, { terminal });
}

test('a whole name wins over the names that it begins', async () => {
  const find = cellOf('web', 'web-2');
  expect((await find('web')).name).toEqual({ namespace: 'default', job: 'web' });
});

test.each(['run-a', 'run-', 'r'])('%s is the beginning of one name only', async (written) => {
  const { name, answer } = await cellOf('web', 'run-abc')(written);
  expect(name.job).toBe('run-abc');
  expect(answer.summary.name).toBe('run-abc');
});

test('the beginning of several names lists them, and does nothing', async () => {
  await expect(cellOf('web-1', 'web-2', 'other')('web')).rejects.toMatchObject({
    exitCode: EXIT.usage,
    message: '"web" may be any of 2 jobs: web-1, web-2',
  });
  const many = Array.from({ length: 30 }, (_, n) => `job-${String(n)}`);
  await expect(cellOf(...many)('job')).rejects.toThrow(/any of 30 jobs: .*, and 22 more/);
});

test('the beginning of none names what is near', async () => {
  await expect(cellOf('storefront')('sotrefront')).rejects.toThrow(/did you mean "storefront"/);
});

test('a run is found by the name that it was given, though other names begin so, and says which', async () => {
  const find = cellOf('later-d4k24107*', 'later-on', 'later-x-12345678*');
  expect((await find('later')).name.job).toBe('later-d4k24107');
  expect(find.terminal.stderr).toBe('moorage: "later" is later-d4k24107\n');
});

test('a name in full says nothing about a choice', async () => {
  const find = cellOf('web', 'web-12345678*');
  expect((await find('web')).name.job).toBe('web');
  expect(find.terminal.stderr).toBe('');
});

test('two runs of one given name are listed', async () => {
  await expect(cellOf('a-d4k24107*', 'a-d4k24108*')('a')).rejects.toMatchObject({
    message: '"a" may be any of 2 jobs: a-d4k24107, a-d4k24108',
  });
});

test('a slip in the name that a run was given names it', async () => {
  await expect(cellOf('storefront-d4k24107*')('sotrefront')).rejects.toThrow(/did you mean "storefront"/);
});
