import { describe, expect, it } from 'vitest';
import { FetchPace } from '../../../../host-agent/artifacts/fetch-pace.ts';
import type { FetchSlice } from '../../../../src/wire/api/arbiter-api.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const MB = 1_000_000;
const wanted = new AbortController().signal;

function world(...answers: (FetchSlice | null)[]) {
  const clock = new ManualClock();
  let asked = 0;
  const pace = new FetchPace(clock, () => {
    const answer = answers[asked];
    asked += 1;
    return answer === undefined ? new Promise(() => undefined) : Promise.resolve(answer);
  });
  const taken: string[] = [];
  const take = (name: string, bytes: number, signal = wanted): void =>
    void pace.take(bytes, signal).then(() => taken.push(name));
  return { clock, pace, taken, take, asked: () => asked };
}

describe('how fast a host fetches', () => {
  it('S3.35 bytes wait for the moment from which they are given', async () => {
    const { clock, taken, take } = world({ bytes: MB, afterMs: 40 });
    take('first', MB);
    await clock.advance(39);
    expect(taken).toEqual([]);
    await clock.advance(1);
    expect(taken).toEqual(['first']);
  });

  it('S3.35 what is left of a part serves the next bytes without a question', async () => {
    const { clock, taken, take, asked } = world({ bytes: MB, afterMs: 0 }, { bytes: MB, afterMs: 10 });
    for (const name of ['a', 'b']) take(name, MB / 2);
    await clock.advance(0);
    expect([taken, asked()]).toEqual([['a', 'b'], 1]);
    take('c', MB / 2);
    await clock.advance(10);
    expect([taken, asked()]).toEqual([['a', 'b', 'c'], 2]);
  });

  it('S3.36 several fetches of a host share its parts, and ask one question at a time', async () => {
    const { clock, taken, take, asked } = world({ bytes: MB, afterMs: 10 }, { bytes: MB, afterMs: 10 });
    take('deploy', MB);
    take('update', MB);
    await clock.advance(0);
    expect(asked()).toBe(1);
    await clock.advance(20);
    expect([taken, asked()]).toEqual([['deploy', 'update'], 2]);
  });

  it('S3.35 no bytes: it asks again when it was told to', async () => {
    const { clock, taken, take, asked } = world({ bytes: 0, afterMs: 1_000 }, { bytes: MB, afterMs: 0 });
    take('late', 1);
    await clock.advance(999);
    expect(asked()).toBe(1);
    await clock.advance(1);
    expect([taken, asked()]).toEqual([['late'], 2]);
  });

  it('S3.35 no arbiter answers: what has its ticket is fetched all the same', async () => {
    const { clock, taken, take } = world(null);
    take('granted', MB);
    await clock.advance(0);
    expect(taken).toEqual(['granted']);
  });

  it('S3.35 who no longer wants his bytes waits for none', async () => {
    const { clock, taken, take } = world({ bytes: MB, afterMs: 60_000 });
    const stop = new AbortController();
    take('stopped', MB, stop.signal);
    await clock.advance(1);
    stop.abort();
    await clock.advance(0);
    expect(taken).toEqual(['stopped']);
  });
});
