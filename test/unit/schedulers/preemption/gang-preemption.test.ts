import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import type { Attempt, CellStore } from '../../../../src/ports/cell-store.ts';
import { allocationCodec } from '../../../../src/wire/records/records.ts';
import { withAttempt } from '../../../support/mortal-store.ts';
import { pauseRecord } from '../../../support/pauses.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

describe('making room for gangs larger than one transaction', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const gang = (count: number): Job => makeJob('huge', { precedence: 80 }, { count, gang: true }, 1_000);
  /** Ten hosts of 10,000, full of possible victims. */
  const filled = async (count: number, cpuMilli: number): Promise<void> => {
    for (let at = 0; at < 10; at++) await world.host(`h${String(at)}`, 10_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('low', { precedence: 10, type: 'service' }, { count }, cpuMilli));
    await world.until(() => world.running().length === count, 'a full cell');
  };
  const membersRunning = (): number => world.running().filter(({ job }) => job === 'huge').length;
  const lows = (): Allocation[] => world.allocations().filter(({ job }) => job === 'low');
  const stops = (): number =>
    [...world.hosts.values()].reduce((sum, { stops: some }) => sum + some.length, 0);
  const intents = () => world.under(keys.intents);
  const pauseEviction = (isPaused: boolean) =>
    world.put(...pauseRecord(keys, { what: 'eviction', ...(isPaused ? {} : { endedAtMs: 1 }) }));
  /** No mark of a preemption is left: all of them run on. */
  const nobodyWent = (count: number): void => {
    expect(lows()).toHaveLength(count);
    for (const low of lows())
      expect([low.desired, low.cause, low.yields]).toEqual(['run', undefined, undefined]);
    expect([stops(), intents(), world.ledgersAreTrue()]).toEqual([0, [], true]);
    expect(world.running().filter(({ job }) => job === 'low')).toHaveLength(count);
  };

  it('S3.10 I6 preempts as many as it needs, and no more', async () => {
    await filled(100, 1_000);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(gang(80));
    await world.until(() => membersRunning() === 80, 'the gang');
    expect([intents(), world.ledgersAreTrue()]).toEqual([[], true]);
    expect(world.outcomes().filter(({ cause }) => cause === 'evicted by default/huge')).toHaveLength(80);
    expect(world.running().filter(({ job }) => job === 'low')).toHaveLength(20);
  });

  it('S3.10 members share the place of one who was larger than they', async () => {
    await filled(20, 5_000);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(gang(70));
    await world.until(() => membersRunning() === 70, 'the gang');
    await world.until(() => world.outcomes().length === 14, 'the ends of those who gave way');
    expect(world.running().filter(({ job }) => job === 'low')).toHaveLength(6);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('preempts nothing for a gang that would not fit all the same', async () => {
    await filled(100, 1_000);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(gang(101));
    await world.clock.advance(60_000);
    nobodyWent(100);
    expect(world.allocations()).toHaveLength(100);
  });

  it('hosts that answer late cost no other job its host, and the gang holds what it found for no longer', async () => {
    await filled(90, 1_000);
    await world.scheduler({ id: 'batch-1' });
    // Later than the gang waits for any.
    const late = () => new Promise<'pass'>((resolve) => world.clock.after(25_000, () => resolve('pass')));
    world.fate = ({ method, url }, from) =>
      from === 'batch-1' && method === 'GET' && url.endsWith('/v1/allocations') ? late() : 'pass';
    await world.submit(gang(95));
    await world.clock.advance(35_000);
    nobodyWent(90);
    await world.submit(makeJob('small', { precedence: 5 }, { count: 10 }, 1_000));
    await world.until(() => world.running().length === 100, 'the use of what it gave back');
    world.fate = () => 'pass';
    await world.until(() => membersRunning() === 95, 'the gang', 120_000);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('hosts that do not answer hold up no search, and are asked last from then on', async () => {
    for (let at = 10; at < 30; at++) await world.host(`h${String(at)}`, 10_000);
    await filled(300, 1_000);
    await world.scheduler({ id: 'batch-1' });
    const silent = new Set([...world.hosts.values()].slice(0, 10).map(({ address }) => address));
    const asked: string[] = [];
    world.fate = (call, from) => {
      const { method, url } = call;
      const address = url.slice(0, url.indexOf('/v1/'));
      if (from !== 'batch-1' || !silent.has(address)) return 'pass';
      if (method === 'GET' && url.endsWith('/v1/allocations')) asked.push(address);
      return world.untilDeadline(call);
    };
    await world.submit(gang(80));
    // Answers come at once; those that do not come are not awaited.
    await world.until(() => membersRunning() === 80, 'the gang', 3_000);
    await world.clock.advance(3_000);
    await world.submit(makeJob('next', { precedence: 80 }, { count: 120, gang: true }, 1_000));
    const next = () => world.running().filter(({ job }) => job === 'next').length;
    await world.until(() => next() === 120, 'the next one', 3_000);
    expect(asked.length).toBe(new Set(asked).size);
    expect(world.ledgersAreTrue()).toBe(true);
    // Who is left has no other room.
    silent.clear();
    await world.submit(makeJob('last', { precedence: 80 }, { count: 100, gang: true }, 1_000));
    const last = () => world.running().filter(({ job }) => job === 'last').length;
    await world.until(() => last() === 100, 'the last one', 120_000);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('a search lasts for as long as hosts answer, however slowly', async () => {
    for (let at = 10; at < 200; at++) await world.host(`h${String(at)}`, 10_000);
    await filled(200, 10_000);
    await world.scheduler({ id: 'batch-1' });
    // As on a machine that has much else to do: 40 answers in as many seconds as a member waits for any.
    world.fate = ({ method, url }, from) => {
      if (from !== 'batch-1' || method !== 'GET' || !url.endsWith('/v1/allocations')) return 'pass';
      return new Promise((resolve) => world.clock.after(4_800, () => resolve('pass')));
    };
    await world.submit(gang(2_000));
    // In large steps: each small one is a look at all that waits.
    for (let seconds = 0; seconds < 40 && membersRunning() < 2_000; seconds++)
      await world.clock.advance(1_000);
    expect(membersRunning()).toBe(2_000);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('one host takes no more members and victims than one transaction, with those that fit as it is', async () => {
    await world.host('h0', 200_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('low', { precedence: 10, type: 'service' }, {}, 100_000));
    await world.until(() => world.running().length === 1, 'the one of lower precedence');
    let isBegun = false;
    await world.scheduler({ id: 'batch-1' }, (store) =>
      before(store, ({ writes }) => {
        isBegun ||= writes.some(({ key }) => key.startsWith(keys.intents));
      }),
    );
    // A hundred fit beside it; the rest would be few enough, but for these.
    await world.submit(gang(150));
    await world.clock.advance(60_000);
    expect(isBegun).toBe(false);
    nobodyWent(1);
    await world.submit(makeJob('smaller', { precedence: 80 }, { count: 120, gang: true }, 1_000));
    await world.until(() => world.running().length === 120, 'one that is small enough');
    expect([isBegun, world.ledgersAreTrue()]).toEqual([true, true]);
  });

  it('a gang that lost its last step gives back the places of all who would have gone', async () => {
    await filled(20, 5_000);
    let voided = false;
    await world.scheduler({ id: 'batch-1' }, (store) =>
      before(store, async (attempt) => {
        const last = lastStepOf(attempt);
        if (last === undefined || voided) return;
        voided = true;
        expect(lows().filter(({ desired }) => desired === 'evict').length).toBe(14);
        expect(world.ledgersAreTrue()).toBe(true);
        await pauseEviction(true);
        const text = world.cell.get(last)?.value ?? '';
        await world.put(last, text.replace('"state":"open"', '"state":"void"'));
      }),
    );
    await world.submit(gang(70));
    await world.until(() => voided && intents().length === 0, 'the end of the intent');
    await world.clock.advance(30_000);
    nobodyWent(20);
    await pauseEviction(false);
    // Long before a parked job is taken up in any case.
    await world.until(() => membersRunning() === 70, 'the gang', 3_000);
    expect(world.running().filter(({ job }) => job === 'low')).toHaveLength(6);
  });

  it('S4.30 what a scheduler that died had begun is taken back by its successor', async () => {
    await filled(20, 5_000);
    let left = 1;
    const dying = await world.scheduler({ id: 'batch-1' }, (store) =>
      before(store, (attempt) => {
        const places = attempt.writes.some(({ key }) => key.startsWith(`${keys.allocations}default/huge/`));
        return places && left-- <= 0 ? new Promise<never>(() => undefined) : undefined;
      }),
    );
    // More than two transactions hold.
    await world.submit(gang(100));
    await world.until(() => lows().some(({ desired }) => desired === 'evict'), 'a part of it');
    await pauseEviction(true);
    await world.kill(dying);
    await world.scheduler({ id: 'batch-2' });
    await world.until(() => intents().length === 0, 'the end of the intent');
    await world.clock.advance(30_000);
    nobodyWent(20);
  });

  it('S4.30 it is taken back by a store that takes less by then', async () => {
    world.limits.operationsMax = 512;
    for (const id of ['h0', 'h1', 'h2']) await world.host(id, 200_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('low', { precedence: 10, type: 'service' }, { count: 3 }, 200_000));
    await world.until(() => world.running().length === 3, 'a full cell');
    let isLast = false;
    const dying = await world.scheduler({ id: 'batch-1' }, (store) =>
      before(store, (attempt) => {
        isLast ||= lastStepOf(attempt) !== undefined;
        return isLast ? new Promise<never>(() => undefined) : undefined;
      }),
    );
    // Two hosts have room for all, but one transaction of the smallest store could not give either of them back.
    await world.submit(gang(300));
    await world.until(() => isLast, 'the last step');
    await pauseEviction(true);
    await world.kill(dying);
    world.limits.operationsMax = 128;
    await world.scheduler({ id: 'batch-2' });
    await world.until(() => intents().length === 0, 'the end of the intent', 120_000);
    await world.clock.advance(30_000);
    nobodyWent(3);
  });

  it('a new owner of marked victims waits until the intent is decided, and stops none before', async () => {
    for (let at = 0; at < 10; at++) await world.host(`h${String(at)}`, 10_000);
    const owner = await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('low', { precedence: 10, type: 'service' }, { count: 20 }, 5_000));
    await world.until(() => world.running().length === 20, 'a full cell');
    let goOn: () => void = () => undefined;
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    let isLast = false;
    await world.scheduler({ id: 'batch-1' }, (store) =>
      before(store, async (attempt) => {
        if (lastStepOf(attempt) === undefined) return;
        isLast = true;
        await mayGoOn;
      }),
    );
    await world.submit(gang(70));
    await world.until(() => isLast, 'the last step');
    await world.kill(owner);
    const successor = await world.scheduler({ id: 'service-2', kind: 'service' });
    await world.until(() => successor.events.some(({ kind }) => kind === 'owned'), 'the successor');
    await world.clock.advance(5_000);
    expect([stops(), intents().length]).toEqual([0, 1]);
    goOn();
    await world.until(() => membersRunning() === 70, 'the gang');
    await world.until(() => world.outcomes().length === 14, 'the ends of those who gave way');
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('keeps in the record to whom it yields, and who is displaced', () => {
    const yields = {
      intent: { namespace: 'default', job: 'huge', id: '01j' },
      keeps: {
        resources: { cpuMilli: 5, memoryMib: 0, diskMib: 0, scalars: {} },
        gpus: [{ device: 1, milli: 500 }],
      },
    };
    const plain = allocationCodec.decode(PLAIN);
    const text = allocationCodec.encode({ ...plain, yields, displaces: ['default/low/b'] });
    expect(allocationCodec.decode(text)).toMatchObject({ yields, displaces: ['default/low/b'] });
    expect(allocationCodec.encode(allocationCodec.decode(text))).toBe(text);
  });
});

const PLAIN =
  '{"v":1,"id":"a","host":"h","precedence":50,"resources":[1,2,0],"index":0,"attempt":1,"namespace":"default","job":"j",' +
  '"jobVersion":1,"group":"g","scheduler":"s","desired":"run","planId":"p","epoch":["e",0],"createdAtMs":1}';

/** The intent whose deletion would make its gang effective; undefined: the attempt is another step. */
function lastStepOf(attempt: Attempt): string | undefined {
  return attempt.writes.find(({ kind, key }) => kind === 'delete' && key.startsWith(keys.intents))?.key;
}

/** The same store; `look` sees each attempt first, and may hold it up. */
function before(store: CellStore, look: (attempt: Attempt) => Promise<void> | void): CellStore {
  return withAttempt(store, async (one) => {
    await look(one);
    return store.attempt(one);
  });
}
