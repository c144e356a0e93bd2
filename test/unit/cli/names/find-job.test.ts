import { expect, test } from 'vitest';
import { EXIT } from '../../../../cli/command/exit.ts';
import { withJob } from '../../../../cli/names/find-job.ts';
import { jobName } from '../../../../cli/names/names.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';

/** A cell with jobs of these names. */
function cellOf(...names: readonly string[]) {
  const http = new FakeHttp({
    [A]: (_call, path) => {
      if (path.startsWith('/v1/jobs?')) return { body: { jobs: names.map((name) => ({ name })) } };
      const job = path.split('/').at(-1) ?? '';
      if (names.includes(job)) return { body: { summary: { name: job } } };
      return { status: 404, body: { code: 'no-such-job', detail: 'there is none' } };
    },
  });
  const { api } = fakeContext(http, [A]);
  return (written: string) => withJob(api, jobName(written, 'default'), (name) => api.status(name));
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
