import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Group, JobRecord, Move } from '../../../../src/core/cell/job.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';
import { pauseRecord } from '../../../support/pauses.ts';
import { makeGroup } from '../../core/placement/placement-fixtures.ts';
import { keys, makeJob } from '../cell-world.ts';
import { PlanWorld } from '../plan/plan-world.ts';

const RESCHEDULE = makeGroup({}).reschedule;
let world: PlanWorld;
beforeEach(async () => {
  world = new PlanWorld();
  await world.host('h1');
  await world.started({ id: 'service-1', kind: 'service' });
});
afterEach(() => world.close());

/** A service on h1, beside which h2 is empty. */
async function onOne(group: Partial<Group>): Promise<void> {
  const job = makeJob('web', { type: 'service' }, { minHealthyMs: 1_000, count: 2, ...group }, 1_000);
  const { count } = job.groups['web'] ?? { count: 0 };
  await world.submit(job);
  await world.until(() => world.placesOf('web').length === count, 'web runs');
  await world.host('h2');
  await world.quiet();
}

const idOf = (index: number): string =>
  world.allocations().find((one) => one.index === index && one.desired === 'run')?.id ?? '';

/** As a monitor writes it. */
async function ask(indexes: readonly number[], more: Partial<Move> = {}): Promise<void> {
  const key = keys.job('default', 'web');
  const known = jobCodec.decode((await world.store.read([key])).entries.get(key)?.value ?? '');
  const untilMs = world.clock.nowMs() + 3_600_000;
  const moves = indexes.map((index) => ({
    ...{ allocation: idOf(index), to: 'h2', reason: 'room', by: 'ada', untilMs, ...more },
  }));
  const record: JobRecord = { ...known, moves };
  await world.put(key, jobCodec.encode(record));
}

/** Until nothing changes any more. @returns how many ran at the worst moment, and at the best */
async function watched(): Promise<{ readonly fewest: number; readonly most: number }> {
  let [fewest, most] = [Infinity, 0];
  for (let ms = 0; ms < 60_000; ms += 20) {
    await world.clock.advance(20);
    const count = world.placesOf('web').length;
    [fewest, most] = [Math.min(fewest, count), Math.max(most, count)];
  }
  return { fewest, most };
}

describe('moves that somebody asked for', () => {
  it('S0.38 I63 are made as an update is, one at a time, and count for nothing', async () => {
    await onOne({ count: 3 });
    await ask([0, 2]);
    const { fewest, most } = await watched();
    expect(fewest).toBeGreaterThanOrEqual(2);
    expect(most).toBe(3);
    expect(world.placesOf('web')).toEqual(['web[0]@h2', 'web[1]@h1', 'web[2]@h2']);
    expect(world.outcomes().map(({ cause }) => cause)).toEqual(Array(2).fill('moved by ada: room'));
    const [first = 0, second = 0] = world.outcomes().map(({ endedAtMs }) => endedAtMs);
    // The next one goes when what took the place of the first has been up for `minHealthy`.
    expect(Math.abs(second - first)).toBeGreaterThanOrEqual(1_000);
  });

  it('S0.38 S0.40 I63 start first where an update would, so that the only one is never missed', async () => {
    await onOne({ count: 1, update: { strategy: 'start-first' } });
    await ask([0]);
    expect(await watched()).toEqual({ fewest: 1, most: 2 });
    expect(world.placesOf('web')).toEqual(['web[0]@h2']);
  });

  it('are carried out by another scheduler, when the first one dies in between', async () => {
    await onOne({ count: 3 });
    const [first] = world.members;
    await ask([0, 1, 2]);
    await world.until(() => world.placesOf('web').some((place) => place.endsWith('h2')), 'the first move');
    if (first !== undefined) await world.kill(first);
    await world.started({ id: 'service-2', kind: 'service' });
    await world.until(() => world.placesOf('web').join() === 'web[0]@h2,web[1]@h2,web[2]@h2', 'all moves');
  });

  it('S0.38 S0.43 leave what its policy or a pause keeps, and what is stopped stays so', async () => {
    await onOne({ reschedule: { ...RESCHEDULE, onRequest: false } });
    await ask([0, 1]);
    await watched();
    expect(world.placesOf('web')).toEqual(['web[0]@h1', 'web[1]@h1']);
    await world.submit(makeJob('web', { type: 'service' }, { minHealthyMs: 1_000, count: 2 }, 1_000), 2);
    await world.quiet();
    await world.put(...pauseRecord(keys, { namespace: 'default', job: 'web' }));
    await ask([0]);
    await watched();
    expect(world.placesOf('web')).toEqual(['web[0]@h1', 'web[1]@h1']);
    await world.put(...pauseRecord(keys, { namespace: 'default', job: 'web', endedAtMs: 1 }));
    await world.until(
      () => world.placesOf('web').join() === 'web[0]@h2,web[1]@h1',
      'the move after the pause',
    );
    await world.submit(makeJob('web', { type: 'service' }, { count: 2 }, 1_000), 2, 'stop');
    await watched();
    expect(world.placesOf('web')).toEqual([]);
  });

  it('S0.43 a drain, too, leaves what is paused until it may start elsewhere', async () => {
    await onOne({});
    await world.put(...pauseRecord(keys, { namespace: 'default', job: 'web' }));
    await world.setEligibility('h1', 'draining');
    await watched();
    expect(world.placesOf('web')).toEqual(['web[0]@h1', 'web[1]@h1']);
    await world.put(...pauseRecord(keys, { namespace: 'default', job: 'web', endedAtMs: 1 }));
    await world.until(
      () => world.placesOf('web').join() === 'web[0]@h2,web[1]@h2',
      'the drain after the pause',
    );
  });

  it('do not stop what its new host would not take, and are forgotten after their time', async () => {
    await onOne({});
    await world.submit(makeJob('other', { type: 'service' }, { constraints: [onH2()] }, 3_500));
    await world.until(() => world.placesOf('other').length === 1, 'h2 is full');
    await ask([0], { untilMs: world.clock.nowMs() + 120_000 });
    expect(await watched()).toEqual({ fewest: 2, most: 2 });
    expect(world.placesOf('web')).toEqual(['web[0]@h1', 'web[1]@h1']);
    await world.clock.advance(120_000);
    await world.submit(makeJob('other', { type: 'service' }, { constraints: [onH2()] }, 3_500), 1, 'stop');
    await watched();
    expect(world.placesOf('web')).toEqual(['web[0]@h1', 'web[1]@h1']);
  });

  it('to no host in particular go to any other one', async () => {
    await onOne({});
    const { to: _to, ...move } = { to: '', allocation: idOf(1), reason: '', by: 'ada', untilMs: 1e15 };
    const key = keys.job('default', 'web');
    const known = jobCodec.decode((await world.store.read([key])).entries.get(key)?.value ?? '');
    await world.put(key, jobCodec.encode({ ...known, moves: [move] }));
    await watched();
    expect(world.placesOf('web')).toEqual(['web[0]@h1', 'web[1]@h2']);
  });
});

const onH2 = () => ({ attribute: 'id', operator: '==', value: 'h2', text: 'host.id == h2' }) as const;
