import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobName } from '../../../../cli/names/names.ts';
import { relay } from '../../../../cli/tasks/relay.ts';
import type { Handler } from '../fakes.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
const B = 'http://b';
const source = { name: jobName('hello', 'default'), call: { stream: 'stdout' } } as const;

/** Serves `text` from the asked offset in pieces, and cuts the connection after some of them. */
function server(text: string, pieces: () => number, cuts: () => boolean): Handler {
  return (_call, path) => {
    const offset = Number(new URLSearchParams(path.split('?')[1]).get('offset'));
    const chunks: string[] = [];
    for (let at = offset; at < text.length;) {
      const end = Math.min(text.length, at + Math.max(1, pieces()));
      chunks.push(text.slice(at, end));
      at = end;
      if (cuts()) return { offset, chunks: [...chunks, 'cut'] };
    }
    return { offset, chunks };
  };
}

test('each byte comes once, in order, wherever connections break', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.stringMatching(/^[a-z\n]{0,60}$/),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 40 }),
      fc.array(fc.boolean(), { maxLength: 12 }),
      async (text, sizes, cuts) => {
        const next = (): number => sizes.pop() ?? 1;
        const handler = server(text, next, () => cuts.pop() ?? false);
        const { api, terminal } = fakeContext(new FakeHttp({ [A]: handler, [B]: handler }), [A, B]);
        let got = '';
        const write = (chunk: Uint8Array): void => void (got += new TextDecoder().decode(chunk));
        const place = { allocation: null, offset: 0 };
        await relay(api, terminal, source, {
          place,
          follow: true,
          signal: new AbortController().signal,
          write,
        });
        expect(got).toBe(text);
        expect(place.offset).toBe(text.length);
      },
    ),
    { numRuns: 60 },
  );
});

test('bytes that the host gave up are told, not skipped in silence', async () => {
  const http = new FakeHttp({ [A]: () => ({ offset: 100, chunks: ['tail'] }) });
  const { api, terminal } = fakeContext(http, [A]);
  const gaps: number[] = [];
  const place = { allocation: null, offset: 0 };
  const options = { follow: false, signal: new AbortController().signal, write: () => undefined };
  await relay(api, terminal, source, { ...options, place, onGap: (bytes) => gaps.push(bytes) });
  expect(place.offset).toBe(104);
  expect(gaps).toEqual([100]);
});

test('a follower asks again while the start is awaited', async () => {
  let asked = 0;
  const http = new FakeHttp({ [A]: () => (++asked < 3 ? { status: 204 } : { chunks: ['now'] }) });
  const { api, terminal } = fakeContext(http, [A]);
  const write = (chunk: Uint8Array): void => terminal.out(chunk);
  await relay(api, terminal, source, { follow: true, signal: new AbortController().signal, write });
  expect(terminal.stdout).toBe('now');
  expect(asked).toBe(3);
});

test('I28 where the slot has a successor, all of its output, and the bytes of the other one are not missing', async () => {
  const asked: string[] = [];
  const http = new FakeHttp({
    [A]: (_call, path) => {
      asked.push(path.split('?')[1] ?? '');
      return { allocation: 'a2', chunks: ['all'] };
    },
  });
  const { api, terminal } = fakeContext(http, [A]);
  const place = { allocation: 'a1', offset: 100 };
  let got = '';
  const gaps: number[] = [];
  await relay(api, terminal, source, {
    ...{ follow: true, signal: new AbortController().signal, place },
    write: (chunk) => void (got += new TextDecoder().decode(chunk)),
    onGap: (bytes) => gaps.push(bytes),
  });
  expect(asked).toEqual(['stream=stdout&offsetOf=a1&offset=100&follow=true']);
  expect({ got, gaps, place }).toEqual({ got: 'all', gaps: [], place: { allocation: 'a2', offset: 3 } });
});
