import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CellWorld, makeJob } from './cell-world.ts';

describe('a batch scheduler', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  it('S4.5 takes a job from submission to its outcome, and lets the host forget it', async () => {
    const host = await world.host('h1');
    host.behaviour = () => 'complete';
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('hello'));
    await world.until(() => world.outcomes().length === 1, 'an outcome');
    const [outcome] = world.outcomes();
    expect(outcome).toMatchObject({ job: 'hello', index: 0, attempt: 1, host: 'h1', state: 'complete' });
    await world.until(() => world.owners().length === 0, 'giving up the finished job');
    await world.until(() => host.removed.length === 1, 'the host to forget');
    expect(world.allocations()).toEqual([]);
    expect(world.ledgersAreTrue()).toBe(true);
    expect(host.starts).toHaveLength(1);
  });
});
