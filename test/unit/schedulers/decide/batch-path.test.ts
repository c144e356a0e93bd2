import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CellWorld, makeJob } from '../cell-world.ts';

describe('a batch scheduler', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  it('S4.5 takes a job from submission to its outcome, and then leaves it alone', async () => {
    const host = await world.host('h1');
    host.behaviour = () => 'complete';
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('hello'));
    await world.until(() => world.outcomes().length === 1, 'an outcome');
    const [outcome] = world.outcomes();
    expect(outcome).toMatchObject({ job: 'hello', index: 0, attempt: 1, host: 'h1', state: 'complete' });
    await world.until(() => world.owners().length === 0, 'giving up the finished job');
    // The record on the host, and with it the output, stays as long as the outcome does.
    expect(host.removed).toEqual([]);
    expect(world.allocations()).toEqual([]);
    expect(world.ledgersAreTrue()).toBe(true);
    expect(host.starts).toHaveLength(1);
  });
});
