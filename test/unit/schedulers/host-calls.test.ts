import { beforeEach, describe, expect, it } from 'vitest';
import { HostCalls } from '../../../schedulers/host-calls.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Sent {
  readonly host: string;
  readonly end: () => void;
}

describe('HostCalls', () => {
  let clock: ManualClock;
  let calls: HostCalls;
  /** Calls under way, in the order in which they were sent. */
  let open: Sent[];

  beforeEach(() => {
    clock = new ManualClock();
    calls = new HostCalls(clock);
    open = [];
  });

  const make = (host: string) => (): Promise<string> =>
    new Promise((resolve) => open.push({ host, end: () => resolve(host) }));
  const call = (host: string): Promise<string> => calls.call(host, make(host));
  const openTo = (host: string): number => open.filter((one) => one.host === host).length;
  /** So many of the calls under way end, whether by an answer or by their deadline. */
  const end = async (host: string, count = 1): Promise<void> => {
    const ended = open.filter((one) => one.host === host).slice(0, count);
    open = open.filter((one) => !ended.includes(one));
    for (const one of ended) one.end();
    await clock.advance(0);
  };
  const many = (host: string, count: number): void => {
    for (let n = 0; n < count; n++) void call(host);
  };
  /** Its only call has ended with its deadline. */
  const silence = async (host: string): Promise<void> => {
    void call(host);
    await clock.advance(5_000);
    await end(host);
  };

  it('a host is sent two calls until it answers, and sixteen from then on', async () => {
    many('h', 100);
    expect(openTo('h')).toBe(2);
    await end('h');
    expect(openTo('h')).toBe(16);
  });

  it('all calls to a host are made, in their order, as it answers', async () => {
    const made: number[] = [];
    const done = Array.from({ length: 100 }, (_, n) =>
      calls.call('busy', () => {
        made.push(n);
        return make('busy')();
      }),
    );
    while (open.length > 0) await end('busy', 3);
    await Promise.all(done);
    expect(made).toEqual([...Array(100).keys()]);
    expect(calls.isSilent('busy')).toBe(false);
  });

  it('hosts take turns, however much there is to tell some of them', async () => {
    for (let n = 0; n < 64; n++) many(`h${String(n)}`, 50);
    many('late', 1);
    expect([open.length, openTo('late')]).toEqual([128, 0]);
    await end('h0');
    expect([open.length, openTo('late')]).toEqual([128, 1]);
    // Of the first three much is still to be told.
    for (const host of ['h1', 'h2']) await end(host);
    many('later', 20);
    for (const host of ['h3', 'h4', 'h5', 'h6']) await end(host);
    expect([open.length, openTo('later')]).toEqual([128, 1]);
  });

  it('500 hosts that fall silent at once do not hold up ten that answer', async () => {
    for (let n = 0; n < 500; n++) many(`silent-${String(n)}`, 16);
    const healthy = Array.from({ length: 10 }, (_, n) => `healthy-${String(n)}`);
    const answered: string[] = [];
    for (let n = 0; n < 160; n++)
      for (const host of healthy) void calls.call(host, async () => void answered.push(host));
    // Those before them are late one after the other, in 200 ms each.
    await clock.advance(800);
    expect(new Set(answered)).toEqual(new Set(healthy));
    // From then on nobody waits for them.
    await clock.advance(800);
    expect(answered.length).toBe(1_600);
    for (const host of healthy) expect(calls.isSilent(host)).toBe(false);
    await clock.advance(2_000);
    expect(calls.isSilent('silent-499')).toBe(true);
    // None of them was sent more than two of its sixteen.
    expect(open.length).toBeLessThanOrEqual(1_000);
  });

  it('calls that were silent before their turn came wait elsewhere', async () => {
    // So many that the last ones have one place only when these are over.
    for (let n = 0; n < 64; n++) many(`h${String(n)}`, 2);
    many('waits', 3);
    expect(openTo('waits')).toBe(0);
    await clock.advance(200);
    expect(openTo('waits')).toBe(2);
    await clock.advance(5_000);
    for (let n = 0; n < 64; n++) await end(`h${String(n)}`, 2);
    await end('waits', 2);
    // Held for silent: it has one of the places that nobody else needs.
    expect(calls.isSilent('waits')).toBe(true);
    expect(openTo('waits')).toBe(1);
  });

  it('silent hosts have few places, and take turns at them', async () => {
    const hosts = Array.from({ length: 40 }, (_, n) => `h${String(n)}`);
    await Promise.all(hosts.map((host) => silence(host)));
    for (const host of hosts) many(host, 10);
    expect(open.length).toBe(32);
    expect(new Set(open.map(({ host }) => host)).size).toBe(32);
    // One of them is back: all that waits for it is told at once.
    await end('h0');
    expect([openTo('h0'), calls.isSilent('h0')]).toEqual([9, false]);
    expect(openTo('h32')).toBe(1);
  });

  it('what waits for a host that was silent for a minute goes among those that answer, however many are silent', async () => {
    const silent = Array.from({ length: 500 }, (_, n) => `silent-${String(n)}`);
    for (const host of ['healed', ...silent]) void call(host);
    await clock.advance(5_000);
    for (const host of ['healed', ...silent]) await end(host);
    for (const host of [...silent, 'healed']) void call(host);
    // The 32 places of the silent are taken by others, which do not answer.
    expect(openTo('healed')).toBe(0);
    await clock.advance(61_000);
    expect(openTo('healed')).toBe(1);
  });

  it('a host is silent until it answers, or for a minute', async () => {
    void call('h');
    await clock.advance(1_900);
    expect(calls.isSilent('h')).toBe(false);
    await clock.advance(100);
    expect(calls.isSilent('h')).toBe(true);
    await end('h');
    await clock.advance(59_000);
    expect(calls.isSilent('h')).toBe(true);
    await clock.advance(1_000);
    expect(calls.isSilent('h')).toBe(false);
    await silence('h');
    expect(calls.isSilent('h')).toBe(true);
    void call('h');
    await end('h');
    expect(calls.isSilent('h')).toBe(false);
  });

  it('a deadline says nothing of a host that has answered since', async () => {
    many('h', 2);
    const [hangs] = open.splice(0, 1);
    await clock.advance(1_000);
    await end('h');
    await clock.advance(4_000);
    expect(calls.isSilent('h')).toBe(false);
    // Nor does it hold up what comes after.
    many('h', 3);
    expect(openTo('h')).toBe(3);
    hangs?.end();
    await clock.advance(0);
    expect(calls.isSilent('h')).toBe(false);
  });

  it('what is not wanted any more when its turn comes is not sent, and is no answer', async () => {
    await silence('h');
    const asked: string[] = [];
    const unwanted = calls.callIf(
      'h',
      () => false,
      async () => void asked.push('h'),
    );
    expect(await unwanted).toBeNull();
    expect([asked, calls.isSilent('h')]).toEqual([[], true]);
    const wanted = calls.callIf('h', () => true, make('h'));
    await end('h');
    expect([await wanted, calls.isSilent('h')]).toEqual(['h', false]);
  });

  it('what can be asked another time does not wait, and takes no place for which anybody waits', async () => {
    expect(calls.callNow('h', make('h'))).not.toBeNull();
    for (let n = 0; n < 127; n++) void calls.callNow(`h${String(n)}`, make(`h${String(n)}`));
    expect(open.length).toBe(128);
    expect(calls.callNow('more', make('more'))).toBeNull();
    await clock.advance(200);
    expect(calls.callNow('more', make('more'))).not.toBeNull();
    // Nor does it go before what waits for the same host.
    many('busy', 3);
    expect(calls.callNow('busy', make('busy'))).toBeNull();
  });

  it('what a call throws goes to who made it', async () => {
    const failed = calls.call('h', () => Promise.reject(new Error('refused')));
    await expect(failed).rejects.toThrow('refused');
    expect(calls.isSilent('h')).toBe(false);
  });
});
