import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addResources, NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import { pauseRecord } from '../../../support/pauses.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import type { Write } from '../../../../src/ports/cell-store.ts';
import type { HttpCall } from '../../../../src/ports/http.ts';
import { withAttempt } from '../../../support/mortal-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

const COMES_BACK = { attempts: 3, delayMs: 0, delayMaxMs: 0, onHostLost: true };

describe('making room by precedence', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const low = (name: string, cpuMilli = 1_000, part: Partial<Job> = {}): Job =>
    makeJob(name, { precedence: 10, ...part }, { reschedule: COMES_BACK }, cpuMilli);
  const high = (name: string, cpuMilli: number, part: Partial<Job> = {}): Job =>
    makeJob(name, { precedence: 80, ...part }, {}, cpuMilli);

  const jobsRunning = (): string[] =>
    world
      .running()
      .map(({ job }) => job)
      .sort();

  const filledWith = async (jobs: readonly Job[]): Promise<void> => {
    for (const job of jobs) await world.submit(job);
    await world.until(() => world.running().length === jobs.length, 'a full cell');
  };

  /** What runs on each host never takes more than the host has: a newcomer waits for its victims' release. */
  const hostsHold = (cpuMilli: number): void => {
    for (const host of world.hosts.values()) {
      const sum = host.running.reduce((all, { resources }) => addResources(all, resources), NO_RESOURCES);
      expect(sum.cpuMilli).toBeLessThanOrEqual(cpuMilli);
    }
    expect(world.ledgersAreTrue()).toBe(true);
  };

  it('S3.10 higher precedence takes the place of the fewest of lower, whose owner brings them back when it can', async () => {
    await world.host('h1', 4_000);
    const owner = await world.scheduler({ id: 'batch-1' });
    const taker = await world.scheduler({ id: 'service-1', kind: 'service' });
    await filledWith([low('a'), low('b'), low('c'), makeJob('d', { precedence: 40 }, {}, 1_000)]);
    await world.submit(high('big', 2_000, { type: 'service' }));
    await world.until(() => jobsRunning().includes('big'), 'the newcomer');
    expect(jobsRunning()).toHaveLength(3);
    expect(jobsRunning()).toContain('d');
    hostsHold(4_000);
    const newcomer = world.allocations().find(({ job }) => job === 'big');
    const stops = world.hosts.get('h1')?.stops ?? [];
    expect(stops.map(({ request }) => request.mode)).toEqual(['evict', 'evict']);
    expect(new Set(stops.map(({ id }) => id))).toEqual(new Set(newcomer?.evicts));
    await world.until(() => world.outcomes().length === 2, 'the outcomes of the victims');
    for (const outcome of world.outcomes()) expect(outcome.cause).toBe('evicted by default/big');
    await world.until(() => owner.scheduler.status().pending === 2, 'the victims wait for a place');
    expect(taker.events.some(({ kind }) => kind === 'evicting')).toBe(true);
    world.hosts.get('h1')?.end(newcomer?.id ?? '', 'failed');
    await world.host('h2', 4_000);
    await world.until(() => jobsRunning().join('') === 'abcd', 'the victims again');
    hostsHold(4_000);
  });

  it('S3.10 equal precedence is never preempted', async () => {
    await world.host('h1', 2_000);
    await world.scheduler({ id: 'batch-1' });
    await filledWith([high('a', 1_000), high('b', 1_000)]);
    await world.submit(high('late', 1_000));
    await world.clock.advance(60_000);
    expect(jobsRunning()).toEqual(['a', 'b']);
    expect(world.hosts.get('h1')?.stops).toEqual([]);
  });

  it('S3.20 nothing is evicted while eviction is paused, and continues when that ends', async () => {
    await world.host('h1', 1_000);
    const { scheduler } = await world.scheduler({ id: 'batch-1' });
    await world.put(...pauseRecord(keys, { what: 'eviction' }));
    await filledWith([low('a')]);
    await world.submit(high('late', 1_000));
    await world.until(() => scheduler.status().pending === 1, 'waiting');
    await world.clock.advance(60_000);
    expect(jobsRunning()).toEqual(['a']);
    await world.put(...pauseRecord(keys, { what: 'eviction', endedAtMs: 1 }));
    await world.until(() => jobsRunning().join() === 'late', 'the eviction');
    hostsHold(1_000);
  });

  it('S3.20 S3.59 what an operator keeps, by job or by host, is not evicted: another one is', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id, 1_000);
    await world.scheduler({ id: 'batch-1' });
    await filledWith([low('a'), low('b'), low('c')]);
    const hostOf = (name: string): string => world.running().find(({ job }) => job === name)?.host ?? '';
    await world.put(...pauseRecord(keys, { what: 'eviction', namespace: 'default', job: 'a' }));
    await world.put(...pauseRecord(keys, { what: 'eviction', host: hostOf('b') }));
    await world.submit(high('first', 1_000));
    await world.until(() => jobsRunning().join() === 'a,b,first', 'the eviction');
    await world.submit(high('second', 1_000));
    await world.clock.advance(60_000);
    expect(jobsRunning()).toEqual(['a', 'b', 'first']);
    await world.put(...pauseRecord(keys, { what: 'eviction', namespace: 'default', job: 'a', endedAtMs: 1 }));
    await world.until(() => jobsRunning().join() === 'b,first,second', 'the eviction of a');
    hostsHold(1_000);
  });

  it('I5 of two that want the same victim one gets it, and the other takes the next', async () => {
    for (const id of ['h1', 'h2']) await world.host(id, 1_000);
    await world.scheduler({ id: 'batch-1' });
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await filledWith([low('a'), low('b')]);
    await world.submit(high('left', 1_000));
    await world.submit(high('right', 1_000, { type: 'service' }));
    await world.until(() => jobsRunning().join() === 'left,right', 'both');
    hostsHold(1_000);
  });

  it('makes room for several slots of one job, on one host after the other', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id, 2_000);
    await world.scheduler({ id: 'batch-1' });
    await filledWith(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => low(name)));
    const job = makeJob('many', { precedence: 80 }, { count: 5 }, 1_000);
    await world.submit(job);
    await world.until(() => jobsRunning().filter((name) => name === 'many').length === 5, 'five slots');
    expect(jobsRunning()).toHaveLength(6);
    hostsHold(2_000);
  });

  it('a gang gets room for all of its members, or nothing is preempted', async () => {
    for (const id of ['h1', 'h2']) await world.host(id, 2_000);
    await world.scheduler({ id: 'batch-1' });
    await filledWith([low('a'), low('b'), low('c'), high('d', 1_000)]);
    const gang = (name: string, count: number): Job =>
      makeJob(name, { precedence: 50 }, { count, gang: true, distinct: ['id'] }, 2_000);
    await world.submit(gang('two', 2));
    await world.clock.advance(60_000);
    expect(jobsRunning()).toEqual(['a', 'b', 'c', 'd']);
    await world.host('h3', 2_000);
    await world.until(() => jobsRunning().filter((name) => name === 'two').length === 2, 'the gang');
    expect(jobsRunning()).toContain('d');
    hostsHold(2_000);
  });

  it('S4.30 who takes the newcomer over tells the host of its victims', async () => {
    const host = await world.host('h1', 1_000);
    const first = await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.scheduler({ id: 'batch-1' });
    await filledWith([low('a')]);
    world.fate = (call, from) => (from === 'service-1' && call.method !== 'GET' ? 'drop-request' : 'pass');
    await world.submit(high('late', 1_000, { type: 'service' }));
    await world.until(() => world.allocations().some(({ job }) => job === 'late'), 'the commit');
    expect(host.stops).toEqual([]);
    await world.kill(first);
    await world.scheduler({ id: 'service-2', kind: 'service' });
    await world.until(() => jobsRunning().join() === 'late', 'the newcomer');
    expect(host.stops[0]?.request.mode).toBe('evict');
  });

  /** Hosts that are full, of which all but the last one take questions and do not answer them. */
  const besideSilent = async (
    count: number,
    fate: (call: HttpCall) => ReturnType<CellWorld['untilDeadline']>,
  ) => {
    const ids = Array.from({ length: count + 1 }, (_, n) => `h${String(n)}`);
    for (const id of ids) await world.host(id, 1_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('low', { precedence: 10, type: 'service' }, { count: count + 1 }, 1_000));
    await world.until(() => world.running().length === count + 1, 'the low');
    const silent = new Set(ids.slice(0, count).map((id) => world.hosts.get(id)?.address));
    const asked: string[] = [];
    world.fate = (call, from) => {
      const address = call.url.slice(0, call.url.indexOf('/v1/'));
      if (from !== 'batch-1' || !silent.has(address)) return 'pass';
      if (call.method === 'GET' && call.url.endsWith('/v1/allocations')) asked.push(address);
      return fate(call);
    };
    return { ...(await world.scheduler({ id: 'batch-1' })), asked };
  };
  const pinned = (name: string, host: string, cpuMilli = 1_000): Job => {
    const only = { attribute: 'id', operator: '==', value: host, text: `host.id == ${host}` } as const;
    return makeJob(name, { precedence: 80 }, { constraints: [only] }, cpuMilli);
  };

  it('S3.10 hosts that are silent are asked last', async () => {
    const { asked } = await besideSilent(12, (call) => world.untilDeadline(call));
    for (let n = 0; n < 12; n++) await world.submit(pinned(`only-${String(n)}`, `h${String(n)}`));
    await world.clock.advance(4_000);
    expect(new Set(asked).size).toBe(12);
    const before = asked.length;
    await world.submit(high('anywhere', 1_000));
    await world.until(() => jobsRunning().includes('anywhere'), 'the host that answers', 500);
    expect(asked.length).toBe(before);
  });

  it('S3.10 hosts that are late are not waited for', async () => {
    await besideSilent(3, (call) => world.untilDeadline(call));
    await world.submit(high('anywhere', 1_000));
    await world.until(() => jobsRunning().includes('anywhere'), 'the host that answers', 1_000);
  });

  it('a question that gets no answer does not keep the group from trying again', async () => {
    const { events } = await besideSilent(1, () => new Promise<never>(() => undefined));
    await world.submit(pinned('first', 'h0'));
    const tries = (): number => events.filter(({ kind }) => kind === 'evicting').length;
    await world.until(() => tries() === 1, 'the first try');
    await world.until(() => tries() === 2, 'the next one', 60_000);
  });

  it('asks nobody where all that could go is its own, and its hosts where it is not', async () => {
    for (const id of ['h1', 'h2']) await world.host(id, 2_000);
    await world.scheduler({ id: 'batch-1' });
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await filledWith(['a', 'b', 'c', 'd'].map((name) => low(name)));
    // Its hosts' reports come to it by now.
    await world.clock.advance(1_000);
    const lists: string[] = [];
    world.fate = (call, from) => {
      if (call.method === 'GET' && call.url.endsWith('/v1/allocations')) lists.push(from);
      return 'pass';
    };
    for (const name of ['first', 'second']) await world.submit(high(name, 1_000));
    await world.until(() => jobsRunning().includes('second') && jobsRunning().includes('first'), 'both');
    expect(lists).toEqual([]);
    await world.submit(high('third', 1_000, { type: 'service' }));
    await world.until(() => jobsRunning().includes('third'), 'the one of another scheduler');
    expect(lists).toContain('service-1');
    expect(jobsRunning()).toHaveLength(4);
    hostsHold(2_000);
  });

  it('learns what became of a victim of its own that another scheduler took first', async () => {
    await world.host('h1', 2_000);
    const taker = await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.scheduler({ id: 'batch-1' });
    await filledWith([low('a'), low('b')]);
    // Its owner hears of nothing: neither from the host nor by an order.
    world.fate = (call, from) =>
      from === taker.scheduler.options.id && call.method !== 'GET' ? 'drop-request' : 'pass';
    await world.submit(high('foreign', 1_000, { type: 'service' }));
    await world.until(() => world.allocations().some(({ job }) => job === 'foreign'), 'its commit');
    await world.submit(high('own', 1_000));
    await world.until(
      () => world.allocations().some(({ job }) => job === 'own'),
      'the other victim',
      120_000,
    );
    world.fate = () => 'pass';
    await world.until(() => jobsRunning().join() === 'foreign,own', 'both', 120_000);
    hostsHold(2_000);
  });

  it('I64 passes over a victim with an unreadable record, and continues', async () => {
    await world.host('h1', 2_000);
    const { events } = await world.scheduler({ id: 'batch-1' });
    await filledWith([low('odd'), low('plain')]);
    const [odd] = world.allocations().filter(({ job }) => job === 'odd');
    if (odd === undefined) throw new Error('there is one');
    await world.put(keys.allocation('default', 'odd', odd.id), '{"v":1}');
    await world.submit(high('both', 2_000));
    await world.until(() => events.some(({ kind, job }) => kind === 'evicting' && job === 'both'), 'a try');
    await world.clock.advance(1_000);
    expect(jobsRunning()).toEqual(['odd', 'plain']);
    await world.submit(high('one', 1_000));
    await world.until(() => jobsRunning().join() === 'odd,one', 'the place of the one that can be read');
  });

  it('begins no second eviction on a host when a gang that came there has landed', async () => {
    for (const id of ['h1', 'h2']) await world.host(id, 10_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('low', { precedence: 10, type: 'service' }, { count: 6 }, 3_000));
    await world.until(() => world.running().length === 6, 'the low');
    const gates = new Map<string, Gate>();
    const gate = (job: string): Gate => {
      const made = makeGate();
      gates.set(`${keys.allocations}default/${job}/`, made);
      return made;
    };
    const [gang, first] = [gate('gang'), gate('first')];
    const { events } = await world.scheduler({ id: 'batch-1' }, (store) =>
      withAttempt(store, async (attempt) => {
        for (const [prefix, { reached, opened }] of gates)
          if (attempt.writes.some(({ key }) => key.startsWith(prefix))) {
            reached(attempt.writes);
            await opened;
          }
        return store.attempt(attempt);
      }),
    );
    // One member fits on each host, and the third preempts on one of them.
    await world.submit(makeJob('gang', { precedence: 80 }, { count: 3, gang: true }, 1_000));
    await world.until(() => gang.writes !== null, 'the gang');
    const victim = (gang.writes ?? []).find(({ key }) => key.startsWith(`${keys.allocations}default/low/`));
    const cleared = world.allocations().find(({ id }) => victim?.key.endsWith(id) === true)?.host;
    const other = cleared === 'h1' ? 'h2' : 'h1';
    const isEvicting = (job: string): boolean =>
      events.some((event) => event.kind === 'evicting' && event.job === job);
    await world.submit(pinned('first', other, 3_000));
    await world.until(() => isEvicting('first'), 'the eviction beside the gang');
    gang.open();
    await world.until(() => first.writes !== null, 'its commit');
    await world.submit(pinned('second', other, 3_000));
    await world.clock.advance(10_000);
    expect(isEvicting('second')).toBe(false);
    first.open();
    await world.until(() => isEvicting('second'), 'the next one', 120_000);
  });
});

interface Gate {
  writes: readonly Write[] | null;
  readonly reached: (writes: readonly Write[]) => void;
  readonly opened: Promise<void>;
  readonly open: () => void;
}

/** Holds an attempt up until it is opened. */
function makeGate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const gate: Gate = { writes: null, opened, open, reached: (writes) => (gate.writes = writes) };
  return gate;
}
