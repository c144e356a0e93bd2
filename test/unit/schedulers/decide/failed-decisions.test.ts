import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import { roleCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld;
beforeEach(async () => {
  world = new CellWorld();
  await world.host('h1', 4_000);
});
afterEach(() => world.close());

/** A job that no parser lets through: two of its tasks ask for devices, and deciding on it throws. */
function broken(name: string): Job {
  const job = makeJob(name, {}, { count: 1 }, 100);
  const group = job.groups[name];
  const main = group?.tasks['main'];
  if (group === undefined || main === undefined) throw new Error('no group');
  const wanting = { ...main, gpu: { count: 1, milliEach: 1_000, models: [] } };
  const tasks = { main: wanting, other: { ...wanting, name: 'other' } };
  return { ...job, groups: { [name]: { ...group, tasks } } };
}

const placed = (job: string): boolean => world.allocations().some((one) => one.job === job);

describe('a job on which deciding throws', () => {
  it('S3.48 waits and says why, the others are placed, and another version of it is tried at once', async () => {
    const { scheduler } = await world.scheduler({ id: 'batch-1' });
    await world.submit(broken('bad'));
    await world.submit(makeJob('good', {}, { count: 2 }, 100));
    await world.until(() => placed('good'), 'the other one runs');
    const { address } = roleCodec.decode(world.cell.get(keys.role('scheduler', 'batch-1'))?.value ?? '');
    const why = await new SchedulerClient(world.network.client()).why(address, 'default', 'bad');
    expect(why?.summary).toMatch(/deciding on it failed: .*only one task of a group may ask for GPUs/);
    await world.submit(makeJob('bad', {}, { count: 1 }, 100), 2);
    await world.until(() => placed('bad'), 'its next version runs');
    expect(scheduler.status().pending).toBe(0);
  });

  it('ends its scheduler when it is one of many, whose own state may be wrong', async () => {
    const { scheduler } = await world.scheduler({ id: 'batch-1' });
    const ended = expect(scheduler.ended).rejects.toThrow(/only one task of a group/);
    for (const n of [1, 2, 3, 4, 5]) await world.submit(broken(`bad-${String(n)}`));
    await world.clock.advance(2_000);
    await ended;
  });
});
