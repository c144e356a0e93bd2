import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { allocationCodec, rolloutCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

const QUICK = { count: 3, minHealthyMs: 1_000 };

describe('what a scheduler records of an update', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const recorded = () => world.under(keys.rollouts).map(({ value }) => rolloutCodec.decode(value));
  const running = (version: number) =>
    world.running().filter(({ jobVersion }) => jobVersion === version).length;
  const web = (cpuMilli: number, more: object = {}) =>
    makeJob('web', { type: 'service' }, { ...QUICK, ...more }, cpuMilli);

  it('nothing of a first version; of an update that it goes on, then that it is done', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(web(1_000));
    await world.until(() => running(1) === 3, 'version 1');
    await world.clock.advance(5_000);
    expect(recorded()).toEqual([]);
    await world.submit(web(500), 2);
    await world.until(() => running(2) === 1, 'the first of version 2');
    expect(recorded()).toMatchObject([{ version: 2, state: 'updating', good: 1 }]);
    await world.until(() => recorded()[0]?.state === 'done', 'the end of the update');
    expect(running(2)).toBe(3);
    expect(recorded()).toMatchObject([{ version: 2, state: 'done', good: 2 }]);
  });

  it('a first version that may have to be gone back to is recorded as good, and a failure beside it', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    const update = { update: { autoRevert: true, healthyDeadlineMs: 5_000 } };
    await world.submit(web(1_000, update));
    await world.until(() => recorded()[0]?.state === 'done', 'version 1');
    for (const host of world.hosts.values()) host.behaviour = () => ({ refuse: 'disk-full' });
    const progress = { ...update.update, progressDeadlineMs: 6_000 };
    await world.submit(web(500, { update: progress }), 2);
    await world.until(() => recorded()[0]?.state === 'failed', 'the failure', 120_000);
    expect(recorded()).toMatchObject([{ version: 2, good: 1 }]);
    expect(running(1)).toBe(2);
  });

  it('S3.20 a first version that has not been up for long enough is not known as good', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(web(1_000, { minHealthyMs: 60_000 }));
    await world.until(() => running(1) === 3, 'version 1');
    await world.submit(web(500, { minHealthyMs: 60_000 }), 2);
    await world.until(() => recorded().length > 0, 'the update');
    expect(recorded()[0]).not.toHaveProperty('good');
  });

  it('I63 an update counts on nothing that another scheduler has evicted a moment ago', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(web(1_000));
    await world.until(() => running(1) === 3, 'version 1');
    await world.clock.advance(5_000);
    const wanted = () =>
      world.under(keys.allocations).filter(({ value }) => allocationCodec.decode(value).desired === 'run')
        .length;
    const [, second] = world.under(keys.allocations);
    if (second === undefined) throw new Error('nothing is placed');
    const evicted = { desired: 'evict', cause: 'evicted by default/large' } as const;
    await world.put(
      second.key,
      allocationCodec.encode({ ...allocationCodec.decode(second.value), ...evicted }),
    );
    let fewest = wanted();
    world.fate = () => {
      fewest = Math.min(fewest, wanted());
      return 'pass';
    };
    await world.submit(web(500), 2);
    await world.until(() => running(2) === 3, 'version 2');
    expect(fewest).toBe(2);
  });

  it('K1 another scheduler that takes the job over in the midst of an update goes on with what is there', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    const first = await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(web(1_000));
    await world.until(() => running(1) === 3, 'version 1');
    await world.submit(web(500), 2);
    await world.until(() => running(2) === 1, 'the first of version 2');
    await world.kill(first);
    await world.scheduler({ id: 'service-2', kind: 'service' });
    let fewest = 3;
    world.fate = () => {
      fewest = Math.min(fewest, world.running().length);
      return 'pass';
    };
    await world.until(() => recorded()[0]?.state === 'done', 'the end of the update', 120_000);
    expect(running(2)).toBe(3);
    expect(fewest).toBeGreaterThanOrEqual(2);
  });

  it('K3 start-first: three run at every moment, in a slot more for a while', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(web(500));
    await world.until(() => running(1) === 3, 'version 1');
    await world.submit(web(400, { update: { strategy: 'start-first' } }), 2);
    let fewest = 3;
    let most = 3;
    world.fate = () => {
      const now = world.running().length;
      [fewest, most] = [Math.min(fewest, now), Math.max(most, now)];
      return 'pass';
    };
    await world.until(() => recorded()[0]?.state === 'done', 'the end of the update');
    await world.until(() => world.allocations().length === 3, 'the surplus slot to be given back');
    expect(running(2)).toBe(3);
    expect([fewest, most]).toEqual([3, 4]);
    expect(world.ledgersAreTrue()).toBe(true);
  });
});
