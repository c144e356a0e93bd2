import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { HostCalls } from '../../../../schedulers/calls/calls.ts';
import type { StopOutcome } from '../../../../src/clients/host-client.ts';
import { HttpError } from '../../../../src/ports/http.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

interface Sent {
  readonly host: string;
  readonly address: string;
  readonly answer: () => void;
  readonly fail: () => void;
}

const always = (): boolean => true;

describe('HostCalls', () => {
  let clock: ManualClock;
  let calls: HostCalls;
  /** Calls under way, in the order in which they were sent. */
  let open: Sent[];
  /** Where hosts are that are elsewhere than under their own name; undefined: nowhere. */
  let moved: Map<string, string | undefined>;
  let over: AbortController;

  beforeEach(() => {
    clock = new ManualClock();
    moved = new Map();
    over = new AbortController();
    const addressOf = (host: string): string | undefined => (moved.has(host) ? moved.get(host) : host);
    calls = new HostCalls({ clock, addressOf, signal: over.signal });
    open = [];
  });

  const make =
    (host: string) =>
    (address: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const fail = (): void => reject(new HttpError('no answer', { sent: true }));
        open.push({ host, address, answer: () => resolve(host), fail });
      });
  const call = (host: string): Promise<string | undefined> => {
    const asked = calls.ask(host, always, make(host));
    asked.catch(() => undefined);
    return asked;
  };
  /** As the client gives it: what has no answer is an outcome. */
  const order = (host: string): Promise<StopOutcome | undefined> =>
    calls.order(host, always, (address) =>
      make(host)(address).then(
        (): StopOutcome => ({ kind: 'absent' }),
        (): StopOutcome => ({ kind: 'unknown', sent: true, answered: false, detail: 'no answer' }),
      ),
    );
  const openTo = (host: string): number => open.filter((one) => one.host === host).length;
  const take = (host: string, count: number): readonly Sent[] => {
    const taken = open.filter((one) => one.host === host).slice(0, count);
    open = open.filter((one) => !taken.includes(one));
    return taken;
  };
  /** So many of the calls under way are answered. */
  const answer = async (host: string, count = 1): Promise<void> => {
    for (const one of take(host, count)) one.answer();
    await clock.advance(0);
  };
  /** So many of the calls under way end with their deadline. */
  const giveUp = async (host: string, count = 1): Promise<void> => {
    for (const one of take(host, count)) one.fail();
    await clock.advance(0);
  };
  const many = (host: string, count: number): void => {
    for (let n = 0; n < count; n++) void call(host);
  };
  /** Its only call has ended with its deadline. */
  const silence = async (host: string): Promise<void> => {
    void call(host);
    await clock.advance(5_000);
    await giveUp(host);
  };

  it('a host is sent two calls until it answers, and sixteen from then on', async () => {
    many('h', 100);
    expect(openTo('h')).toBe(2);
    await answer('h');
    expect(openTo('h')).toBe(16);
  });

  it('all calls to a host are made, in their order, as it answers', async () => {
    const made: number[] = [];
    const done = Array.from({ length: 100 }, (_, n) =>
      calls.ask('busy', always, (address) => {
        made.push(n);
        return make('busy')(address);
      }),
    );
    while (open.length > 0) await answer('busy', 3);
    await Promise.all(done);
    expect(made).toEqual([...Array(100).keys()]);
    expect(calls.isSilent('busy')).toBe(false);
  });

  it('hosts take turns, however much there is to tell some of them', async () => {
    for (let n = 0; n < 64; n++) many(`h${String(n)}`, 50);
    many('late', 1);
    expect([open.length, openTo('late')]).toEqual([128, 0]);
    await answer('h0');
    expect([open.length, openTo('late')]).toEqual([128, 1]);
    // Much still waits for the first three.
    for (const host of ['h1', 'h2']) await answer(host);
    many('later', 20);
    for (const host of ['h3', 'h4', 'h5', 'h6']) await answer(host);
    expect([open.length, openTo('later')]).toEqual([128, 1]);
  });

  it('500 hosts that fall silent at once do not hold up ten that answer', async () => {
    for (let n = 0; n < 500; n++) many(`silent-${String(n)}`, 16);
    const healthy = Array.from({ length: 10 }, (_, n) => `healthy-${String(n)}`);
    const answered: string[] = [];
    for (let n = 0; n < 160; n++)
      for (const host of healthy) void calls.ask(host, always, async () => void answered.push(host));
    // Those before them are late one after the other, in 200 ms each.
    await clock.advance(800);
    expect(new Set(answered)).toEqual(new Set(healthy));
    // From then on no call waits for them.
    await clock.advance(800);
    expect(answered.length).toBe(1_600);
    for (const host of healthy) expect(calls.isSilent(host)).toBe(false);
    // None of them was sent more than two of its sixteen.
    expect(open.length).toBeLessThanOrEqual(1_000);
    await clock.advance(5_000);
    await giveUp('silent-499');
    expect(calls.isSilent('silent-499')).toBe(true);
  });

  it('calls that were silent before their turn came wait elsewhere', async () => {
    // So many that the last ones have one place only when these are over.
    for (let n = 0; n < 64; n++) many(`h${String(n)}`, 2);
    many('waits', 3);
    expect(openTo('waits')).toBe(0);
    await clock.advance(200);
    expect(openTo('waits')).toBe(2);
    await clock.advance(5_000);
    for (let n = 0; n < 64; n++) await answer(`h${String(n)}`, 2);
    await giveUp('waits', 2);
    // Silent: its call has one of the permits for silent hosts.
    expect(calls.isSilent('waits')).toBe(true);
    expect(openTo('waits')).toBe(1);
  });

  it('silent hosts have few places, and take turns at them', async () => {
    const hosts = Array.from({ length: 40 }, (_, n) => `h${String(n)}`);
    await Promise.all(hosts.map((host) => silence(host)));
    for (const host of hosts) many(host, 10);
    expect(open.length).toBe(32);
    expect(new Set(open.map(({ host }) => host)).size).toBe(32);
    // One of them is back: all calls that wait for it are sent at once.
    await answer('h0');
    expect([openTo('h0'), calls.isSilent('h0')]).toEqual([9, false]);
    expect(openTo('h32')).toBe(1);
  });

  it('what waits for a host that was silent for a minute goes among those that answer, however many are silent', async () => {
    const silent = Array.from({ length: 500 }, (_, n) => `silent-${String(n)}`);
    for (const host of ['healed', ...silent]) void call(host);
    await clock.advance(5_000);
    for (const host of ['healed', ...silent]) await giveUp(host);
    for (const host of [...silent, 'healed']) void call(host);
    // The 32 permits for silent hosts are held by calls to others, which do not answer.
    expect(openTo('healed')).toBe(0);
    await clock.advance(61_000);
    expect(openTo('healed')).toBe(1);
  });

  it('a host is silent until it answers, or for a minute', async () => {
    await silence('h');
    await clock.advance(59_000);
    expect(calls.isSilent('h')).toBe(true);
    await clock.advance(1_000);
    expect(calls.isSilent('h')).toBe(false);
    await silence('h');
    expect(calls.isSilent('h')).toBe(true);
    void call('h');
    await answer('h');
    expect(calls.isSilent('h')).toBe(false);
  });

  it('a deadline says nothing of a host that has answered since', async () => {
    many('h', 2);
    const [hangs] = open.splice(0, 1);
    await clock.advance(1_000);
    await answer('h');
    await clock.advance(4_000);
    expect(calls.isSilent('h')).toBe(false);
    // Nor does it hold up what comes after.
    many('h', 3);
    expect(openTo('h')).toBe(3);
    hangs?.fail();
    await clock.advance(0);
    expect(calls.isSilent('h')).toBe(false);
  });

  it('what is not wanted any more when its turn comes is not sent, and is no answer', async () => {
    await silence('h');
    const asked: string[] = [];
    const unwanted = calls.ask(
      'h',
      () => false,
      async () => void asked.push('h'),
    );
    expect(await unwanted).toBeUndefined();
    expect([asked, calls.isSilent('h')]).toEqual([[], true]);
    const wanted = calls.ask('h', always, make('h'));
    await answer('h');
    expect([await wanted, calls.isSilent('h')]).toEqual(['h', false]);
  });

  it('a question that can be asked at another time does not wait, and takes no permit for which a call waits', async () => {
    expect(calls.askNow('h', make('h'))).not.toBeNull();
    for (let n = 0; n < 127; n++) void calls.askNow(`h${String(n)}`, make(`h${String(n)}`));
    expect(open.length).toBe(128);
    expect(calls.askNow('more', make('more'))).toBeNull();
    await clock.advance(200);
    expect(calls.askNow('more', make('more'))).not.toBeNull();
    // Nor does it go before what waits for the same host.
    many('busy', 3);
    expect(calls.askNow('busy', make('busy'))).toBeNull();
  });

  it('what a call throws goes to who made it', async () => {
    const failed = calls.ask('h', always, () => Promise.reject(new Error('refused')));
    await expect(failed).rejects.toThrow('refused');
    expect(calls.isSilent('h')).toBe(false);
  });

  it('an answer counts however late it is: a slow host is never silent, and is sent all that waits', async () => {
    const lateness = fc.array(fc.integer({ min: 0, max: 4_999 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(lateness, async (takes) => {
        let answered = 0;
        const later = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
        for (const ms of takes) void calls.ask('slow', always, () => later(ms)).then(() => (answered += 1));
        for (let ms = 0; answered < takes.length; ms += 100) {
          await clock.advance(100);
          expect(calls.isSilent('slow')).toBe(false);
          // Two at once at the worst.
          expect(ms).toBeLessThanOrEqual((takes.length * 5_000) / 2 + 5_000);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('a slow answer ends a silence, and a call that fails at once is none', async () => {
    await silence('h');
    const refusal = order('h');
    await clock.advance(4_900);
    await answer('h');
    expect([await refusal, calls.isSilent('h')]).toEqual([{ kind: 'absent' }, false]);
    void order('h');
    await giveUp('h');
    expect(calls.isSilent('h')).toBe(false);
  });

  it('an order without an answer makes its host silent, and one that is to be repeated does not', async () => {
    const hurried = calls.order(
      'h',
      always,
      (): Promise<StopOutcome> =>
        new Promise((resolve) =>
          clock.after(3_000, () =>
            resolve({ kind: 'unknown', sent: true, answered: true, detail: 'too much to do' }),
          ),
        ),
    );
    await clock.advance(3_000);
    expect([(await hurried)?.kind, calls.isSilent('h')]).toEqual(['unknown', false]);
    void order('h');
    await clock.advance(5_000);
    await giveUp('h');
    expect(calls.isSilent('h')).toBe(true);
  });

  it('no order waits for a question, neither to the same host nor for a place among the silent', async () => {
    const hosts = Array.from({ length: 40 }, (_, n) => `h${String(n)}`);
    await Promise.all(hosts.map((host) => silence(host)));
    for (const host of hosts) many(host, 3);
    expect(open.length).toBe(32);
    // The first one is being asked, and the last one waits to be.
    const answers = [order('h0'), order('h39')];
    expect(open.slice(32).map(({ host }) => host)).toEqual(['h0', 'h39']);
    for (const { answer: say } of open.splice(32)) say();
    expect(await Promise.all(answers)).toEqual([{ kind: 'absent' }, { kind: 'absent' }]);
  });

  it('no order waits for a question at a host that answers, which is sent sixteen of each', async () => {
    many('h', 100);
    await answer('h');
    for (let n = 0; n < 100; n++) void order('h');
    expect(openTo('h')).toBe(32);
  });

  it('a call goes to where its host is when its turn has come', async () => {
    many('h', 3);
    moved.set('h', 'elsewhere');
    // What hangs at its old place holds up nothing at the new one.
    calls.hostChanged('h');
    expect(open.map(({ address }) => address)).toEqual(['h', 'h', 'elsewhere']);
    await clock.advance(5_000);
    await giveUp('h', 2);
    expect(calls.isSilent('h')).toBe(false);
    many('h', 1);
    expect(open.map(({ address }) => address)).toEqual(['elsewhere', 'elsewhere']);
  });

  it('a host that was silent at its old place is not silent at its new one', async () => {
    await silence('h');
    moved.set('h', 'elsewhere');
    expect(calls.isSilent('h')).toBe(false);
    many('h', 3);
    expect(open.map(({ address }) => address)).toEqual(['elsewhere', 'elsewhere']);
  });

  it('nothing is sent to a host that is not registered any more', async () => {
    const waiting = [call('h'), call('h'), order('h'), order('h'), order('h'), call('h')];
    moved.set('h', undefined);
    calls.hostChanged('h');
    expect(open.length).toBe(4);
    expect(await Promise.all([waiting[4], waiting[5]])).toEqual([undefined, undefined]);
    expect(calls.askNow('gone', make('gone'))).not.toBeNull();
    moved.set('gone', undefined);
    expect(calls.askNow('gone', make('gone'))).toBeNull();
  });

  it('nothing is sent once the term is over, whatever waited and however its turn comes', async () => {
    await silence('silent');
    const waiting = ['h', 'h', 'h', 'silent', 'silent'].flatMap((host) => [call(host), order(host)]);
    const ended = Promise.allSettled(waiting);
    const sent = open.length;
    over.abort();
    await answer('h');
    await clock.advance(5_000);
    await giveUp('silent');
    void order('h');
    expect(open.length).toBe(sent - 2);
    calls.close();
    // What had been sent ends by itself.
    await answer('h', 3);
    await giveUp('silent');
    expect(await ended).toHaveLength(10);
    expect(open).toEqual([]);
    await clock.advance(120_000);
    expect(open).toEqual([]);
  });
});
