import { expect, it } from 'vitest';
import { MonitorClient } from '../../../src/clients/monitor-client.ts';
import { FakeHttp } from '../cli/fakes.ts';

it('the client follows the pages of a list to its end, and sorts jobs as they were submitted', async () => {
  const http = new FakeHttp({
    'http://a': (_, path) => {
      const cursor = new URL(path, 'http://a').searchParams.get('cursor');
      const jobs = cursor === null ? [{ name: 'a', submittedAtMs: 5 }] : [{ name: 'b', submittedAtMs: 3 }];
      return { body: { jobs, incomplete: false, ...(cursor === null ? { next: 'YQ' } : {}) } };
    },
  });
  const client = new MonitorClient(http, { urls: ['http://a'], from: 'a test' });
  expect((await client.jobs('n')).jobs.map(({ name }) => name)).toEqual(['b', 'a']);
  expect(http.asked).toEqual([
    'GET http://a/v1/jobs?namespace=n&limit=5000',
    'GET http://a/v1/jobs?namespace=n&limit=5000&cursor=YQ',
  ]);
  expect(await client.jobs('n', { limit: 1 })).toMatchObject({ jobs: [{ name: 'a' }], next: 'YQ' });
});
