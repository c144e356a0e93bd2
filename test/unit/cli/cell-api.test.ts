import { expect, test } from 'vitest';
import { CliError, EXIT } from '../../../cli/exit.ts';
import { cliErrorOf } from '../../../cli/problems.ts';
import { FakeHttp, fakeContext } from './fakes.ts';

const A = 'http://a';
const B = 'http://b';

test('a monitor that cannot be reached is passed over, and not asked first again', async () => {
  const http = new FakeHttp({ [A]: () => 'refused', [B]: () => ({ body: { jobs: [] } }) });
  const { api } = fakeContext(http, [A, B]);
  expect(await api.get('/v1/jobs')).toEqual({ jobs: [] });
  await api.get('/v1/jobs');
  expect(http.asked).toEqual([`GET ${A}/v1/jobs`, `GET ${B}/v1/jobs`, `GET ${B}/v1/jobs`]);
});

test('a write that may have arrived is sent again only when twice is the same as once', async () => {
  const http = new FakeHttp({ [A]: () => 'lost', [B]: () => ({ body: {} }) });
  const first = fakeContext(http, [A, B]);
  await expect(first.api.post('/v1/jobs', {}, false)).rejects.toThrow(CliError);
  expect(http.asked).toEqual([`POST ${A}/v1/jobs`]);
  const second = fakeContext(http, [A, B]);
  await second.api.post('/v1/runs', {}, true);
  expect(http.asked.slice(1)).toEqual([`POST ${A}/v1/runs`, `POST ${B}/v1/runs`]);
});

test('nobody there: exit code 4, and what to type next', async () => {
  const { api } = fakeContext(new FakeHttp({}), [A]);
  const error = await api.get('/v1/jobs').catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    exitCode: EXIT.unreachable,
    hint: expect.stringContaining('moorage dev') as string,
  });
});

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
