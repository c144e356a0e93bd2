import { beforeEach, describe, expect, it } from 'vitest';
import { callQueue } from '../../../src/adapters/system/call-queue.ts';
import { HostCalls } from '../../../schedulers/host-calls.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('HostCalls', () => {
  let clock: ManualClock;
  let calls: HostCalls;
  /** Calls under way, by host: each ends when it is taken out and called. */
  let open: { readonly host: string; readonly answer: () => void }[];

  beforeEach(() => {
    clock = new ManualClock();
    calls = new HostCalls({ clock, first: callQueue(32), retries: callQueue(8) });
    open = [];
  });

  const call = (host: string): Promise<string> =>
    calls.to(host).add(() => new Promise((resolve) => open.push({ host, answer: () => resolve(host) })));
  const openTo = (host: string): number => open.filter((one) => one.host === host).length;
  const answer = async (host: string, count: number): Promise<void> => {
    const answered = open.filter((one) => one.host === host).slice(0, count);
    open = open.filter((one) => !answered.includes(one));
    for (const one of answered) one.answer();
    await clock.advance(0);
  };

  it('a host that does not answer takes half of the places at most, whatever it is asked', async () => {
    for (let n = 0; n < 100; n++) void call('silent');
    await clock.advance(0);
    expect(openTo('silent')).toBe(16);
    const other = call('other');
    await clock.advance(0);
    expect(openTo('other')).toBe(1);
    await answer('other', 1);
    expect(await other).toBe('other');
  });

  it('all calls to a host are made, in their order, as it answers', async () => {
    const made: number[] = [];
    const done = Array.from({ length: 100 }, (_, n) =>
      calls.to('busy').add(async () => {
        made.push(n);
        await new Promise<void>((resolve) => open.push({ host: 'busy', answer: resolve }));
      }),
    );
    await clock.advance(0);
    while (open.length > 0) await answer('busy', 3);
    await Promise.all(done);
    expect(made).toEqual([...Array(100).keys()]);
    expect(calls.isSilent('busy')).toBe(false);
  });

  it('calls to a host that was silent wait with those that failed before, until it answers', async () => {
    void call('silent');
    await clock.advance(0);
    expect(calls.isSilent('silent')).toBe(false);
    await clock.advance(2_000);
    expect(calls.isSilent('silent')).toBe(true);
    // The call ends, as by its deadline: nothing was heard of the host.
    await answer('silent', 1);
    expect(calls.isSilent('silent')).toBe(true);
    for (let n = 0; n < 20; n++) void call('silent');
    await clock.advance(0);
    expect(openTo('silent')).toBe(8);
    await answer('silent', 1);
    expect(calls.isSilent('silent')).toBe(false);
    const next = call('silent');
    await clock.advance(0);
    // Beside those eight that still wait for their answer.
    expect(openTo('silent')).toBe(9);
    await answer('silent', 20);
    await answer('silent', 20);
    expect(await next).toBe('silent');
  });

  it('a host is held for silent for a minute', async () => {
    void call('silent');
    await clock.advance(2_000);
    await answer('silent', 1);
    await clock.advance(59_000);
    expect(calls.isSilent('silent')).toBe(true);
    await clock.advance(1_000);
    expect(calls.isSilent('silent')).toBe(false);
  });
});
