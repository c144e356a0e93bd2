import { expect, test } from 'vitest';
import { runOnce } from '../../../../cli/jobs/run-once.ts';
import { EXIT } from '../../../../cli/command/exit.ts';
import type { RunExit } from '../../../../src/wire/api/monitor-api.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import type { Handler } from '../fakes.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
const B = 'http://b';
const options = { env: [], constraint: [], detach: false, interactive: false, tty: false, stdin: true };

const ENDED: RunExit = { state: 'failed', exit: { code: 7 }, reason: 'exit 7', host: 'h1', allocation: 'x' };

function monitor(end: RunExit, out = 'hello\n', err = ''): Handler {
  return (call, path) => {
    if (call.method === 'POST')
      return { status: 201, body: { namespace: 'default', job: 'run-1', created: true } };
    if (path.includes('/exit')) return { body: end };
    if (path.includes('/why')) return { body: { summary: 'waiting for room', groups: [] } };
    const text = path.includes('stream=stdout') ? out : err;
    const offset = Number(new URLSearchParams(path.split('?')[1]).get('offset'));
    return { offset, chunks: text.length > offset ? [text.slice(offset)] : [] };
  };
}

async function outcome(handlers: Readonly<Record<string, Handler>>) {
  const http = new FakeHttp(handlers);
  const { context, terminal } = fakeContext(http, Object.keys(handlers));
  const code = await runOnce(context, ['sh', '-c', 'exit 7'], options);
  return { code, http, terminal };
}

test("output to the same streams, and the child's exit code", async () => {
  const { code, terminal } = await outcome({ [A]: monitor(ENDED, 'hello\n', 'oops\n') });
  expect(code).toBe(7);
  expect(terminal.stdout).toBe('hello\n');
  expect(terminal.stderr).toBe('oops\n');
});

test('I28 output that was followed to its end is not asked for again; that of an allocation before it is', async () => {
  const asked = async (allocation: string): Promise<readonly string[]> => {
    const { http, terminal } = await outcome({
      [A]: (call, path) => {
        const answer = monitor(ENDED, 'hello\n', 'oops\n')(call, path);
        return typeof answer === 'object' && 'chunks' in answer ? { ...answer, allocation } : answer;
      },
    });
    expect([terminal.stdout, terminal.stderr]).toEqual(['hello\n', 'oops\n']);
    return http.asked.filter((one) => one.includes('/logs'));
  };
  expect(await asked('x')).toHaveLength(2);
  expect(await asked('earlier')).toHaveLength(4);
});

test.each<[string, Partial<RunExit>, number]>([
  ['a success', { state: 'complete', exit: { code: 0 } }, 0],
  ['a signal', { state: 'killed', exit: { signal: 'SIGKILL' } }, 137],
  ['no place in time', { exit: null, host: null, allocation: null, reason: 'unplaceable' }, EXIT.unplaceable],
  ['nobody knows', { state: 'lost', exit: { lost: 'host-reboot' } }, EXIT.ownFault],
])('%s', async (_name, end, wanted) => {
  const { code } = await outcome({ [A]: monitor({ ...ENDED, ...end }) });
  expect(code).toBe(wanted);
});

test('I20 the same key goes to the next monitor when the first one may have taken the run', async () => {
  const { code, http } = await outcome({ [A]: () => 'lost', [B]: monitor(ENDED) });
  expect(code).toBe(7);
  const posts = http.calls.filter((call) => call.method === 'POST');
  expect(posts.map((call) => new URL(call.url).origin)).toEqual([A, B]);
  expect(posts[0]?.headers).toEqual(posts[1]?.headers);
  expect(posts[0]?.body).toEqual(posts[1]?.body);
});

const AWAY = { status: 503, body: { status: 503, code: 'store-unavailable', detail: 'the store is away' } };

test('S3.50 a run that is submitted while the store is away is sent again with its key until the store is back', async () => {
  let posts = 0;
  const { code, http, terminal } = await outcome({
    [A]: (call, path) =>
      call.method === 'POST' && (posts += 1) < 4 ? AWAY : monitor(ENDED, 'hello\n', 'oops\n')(call, path),
  });
  expect(code).toBe(7);
  const keys = http.calls.filter(({ method }) => method === 'POST').map(({ headers }) => headers);
  expect(keys).toHaveLength(4);
  expect(new Set(keys.map((headers) => headers?.['idempotency-key'])).size).toBe(1);
  // Said once, however often it is tried.
  expect(terminal.stderr).toBe('moorage: the store is away; trying again for 30 s\noops\n');
});

test('S3.50 a run is given up after 30 s without the store, with what to do', async () => {
  const http = new FakeHttp({ [A]: () => AWAY });
  const { context, terminal } = fakeContext(http, [A]);
  const startMs = terminal.nowMs();
  await expect(runOnce(context, ['true'], options)).rejects.toMatchObject({
    exitCode: EXIT.unreachable,
    message: expect.stringContaining('still not submitted after 30 s') as string,
    hint: expect.stringContaining('moorage ps') as string,
  });
  expect(terminal.nowMs() - startMs).toBe(30_000);
});

test('S3.50 I57 a monitor whose copy is behind, as after an outage of the store, is asked again for output and end', async () => {
  const BEHIND = { status: 503, body: { status: 503, code: 'behind', detail: 'not yet up to 61' } };
  const refused = new Map<string, number>();
  const { code, terminal } = await outcome({
    [A]: (call, path) => {
      const times = (refused.get(path) ?? 0) + 1;
      refused.set(path, times);
      const isLate = call.method === 'GET' && times <= 3;
      return isLate ? BEHIND : monitor(ENDED, 'hello\n', 'oops\n')(call, path);
    },
  });
  expect([code, terminal.stdout, terminal.stderr]).toEqual([7, 'hello\n', 'oops\n']);
});

test('a store that refuses for good is not asked again', async () => {
  const body = { status: 503, code: 'store-no-space', detail: 'the store is full' };
  const http = new FakeHttp({ [A]: () => ({ status: 503, body }) });
  const { context } = fakeContext(http, [A]);
  await expect(runOnce(context, ['true'], options)).rejects.toThrow('the store is full');
  expect(http.asked).toHaveLength(1);
});

test('a monitor that dies in the middle costs no byte and repeats none', async () => {
  let alive = true;
  const dying: Handler = (call, path) => {
    if (!alive) return 'refused';
    if (path.includes('stream=stdout')) {
      alive = false;
      return { chunks: ['hel', 'cut'] };
    }
    return path.includes('/exit') ? 'lost' : monitor(ENDED)(call, path);
  };
  const { code, terminal } = await outcome({ [A]: dying, [B]: monitor(ENDED) });
  expect(code).toBe(7);
  expect(terminal.stdout).toBe('hello\n');
});

test('--detach prints the id and nothing else', async () => {
  const { context, terminal } = fakeContext(new FakeHttp({ [A]: monitor(ENDED) }), [A]);
  expect(await runOnce(context, ['true'], { ...options, detach: true })).toBe(0);
  expect(terminal.stdout).toBe('run-1\n');
});

test('a wrong flag is a usage error, before anything is sent', async () => {
  const http = new FakeHttp({});
  const { context } = fakeContext(http, [A]);
  await expect(runOnce(context, ['true'], { ...options, cpu: '500' })).rejects.toMatchObject({
    exitCode: EXIT.usage,
    message: expect.stringContaining('did you mean "500m"?') as string,
  });
  await expect(runOnce(context, ['true'], { ...options, env: ['X'] })).rejects.toMatchObject({
    exitCode: EXIT.usage,
  });
  expect(http.asked).toEqual([]);
});

test('a run is sent once only: no restart, no second host', async () => {
  const { http } = await outcome({ [A]: monitor(ENDED) });
  const job = parseJobObject(http.calls[0]?.body);
  expect(job).toMatchObject({ ok: true, job: { oneOff: true, type: 'batch' } });
  const [group] = job.ok ? Object.values(job.job.groups) : [];
  expect(group?.restart).toMatchObject({ attempts: 0, on: 'never' });
  expect(group?.reschedule).toMatchObject({ attempts: 0 });
});

test('I28 what was begun may be lost with its host: the output of the next attempt comes whole', async () => {
  let asked = 0;
  const { terminal, http } = await outcome({
    [A]: (call, path) => {
      if (call.method === 'POST' || path.includes('/why') || path.includes('stderr'))
        return monitor(ENDED, '')(call, path);
      // Ends when the second attempt's output was asked for.
      if (path.includes('/exit')) return asked < 4 ? 'lost' : { body: ENDED };
      asked += 1;
      const query = new URLSearchParams(path.split('?')[1]);
      if (asked === 1) return { allocation: 'a1', offset: 0, chunks: ['first, cut ', 'cut'] };
      // The rest of it is asked for by its name, as long as the host may come back.
      if (query.get('allocation') === 'a1')
        return { status: 503, body: { status: 503, code: 'host-unreachable', detail: 'h1 does not answer' } };
      const offset = query.get('offsetOf') === 'a2' ? Number(query.get('offset')) : 0;
      return { allocation: 'a2', offset, chunks: offset === 0 ? ['the second, whole'] : [] };
    },
  });
  expect(terminal.stdout).toBe('first, cut the second, whole');
  expect(http.asked.filter((one) => one.includes('allocation=a1'))).not.toEqual([]);
});

test.each(['host-unreachable', 'log-gone', 'no-such-allocation'])(
  'I28 a stream that has said nothing yet may lose its allocation (%s): the run goes on, and so does its client',
  async (code) => {
    let asked = 0;
    const { http, terminal } = await outcome({
      [A]: (call, path) => {
        if (call.method === 'POST' || path.includes('/why') || path.includes('stdout'))
          return monitor(ENDED, 'out\n')(call, path);
        // Ends when the second attempt's output was asked for.
        if (path.includes('/exit')) return asked < 3 ? 'lost' : { body: ENDED };
        asked += 1;
        // Known by name, and cut before its first byte.
        if (asked === 1) return { allocation: 'a1', offset: 0, chunks: ['cut'] };
        if (asked === 2) return { status: 503, body: { status: 503, code, detail: 'nothing of it is here' } };
        const offset = Number(new URLSearchParams(path.split('?')[1]).get('offset'));
        return { allocation: 'a2', offset, chunks: offset === 0 ? ['oops'] : [] };
      },
    });
    expect(terminal.stdout).toBe('out\n');
    expect(terminal.stderr).toBe('oops');
    // A monitor that does not know it yet is asked for it once more.
    const [, , third] = http.asked.filter((one) => one.includes('stderr'));
    expect(third?.includes('allocation=a1')).toBe(code === 'no-such-allocation');
  },
);
