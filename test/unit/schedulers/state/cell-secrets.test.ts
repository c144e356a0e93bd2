import { afterEach, beforeEach, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import { roleCodec, secretCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld;
beforeEach(() => (world = new CellWorld()));
afterEach(() => world.close());

function using(name: string, secrets: readonly string[]): Job {
  const job = makeJob(name, {}, {}, 100);
  const group = job.groups[name];
  const task = group?.tasks['main'];
  if (group === undefined || task === undefined) throw new Error('makeJob makes one task');
  return { ...job, groups: { [name]: { ...group, tasks: { main: { ...task, secrets } } } } };
}

const set = (namespace: string, name: string, sealed: string): Promise<void> =>
  world.put(
    keys.secret(namespace, name),
    secretCodec.encode({ namespace, name, sealed, setBy: 'operator/ann', setAtMs: 1 }),
  );

it('a job waits for the secrets of its namespace, says for which, and then its order brings what they are now', async () => {
  await world.host('h1', 64_000);
  const { scheduler } = await world.scheduler({ id: 'batch-1' });
  const client = new SchedulerClient(world.network.client());
  await set('other', 'db', 'of another namespace');
  await world.submit(using('reader', ['db', 'api']));
  await world.submit(using('plain', []));
  await world.until(() => world.running().length === 1, 'what needs none runs');
  await world.clock.advance(10_000);
  expect(scheduler.status().pending).toBe(1);
  expect(world.allocations()).toHaveLength(1);
  const { address } = roleCodec.decode(world.cell.get(keys.role('scheduler', 'batch-1'))?.value ?? '');
  const why = async (): Promise<unknown> => (await client.why(address, 'default', 'reader'))?.groups[0];
  expect(await why()).toMatchObject({
    stage: 'waiting',
    detail: 'namespace default has no secret db: moorage secret set db -n default',
  });
  await set('default', 'db', 'sealed-1');
  await world.clock.advance(5_000);
  expect(await why()).toMatchObject({ detail: expect.stringContaining('no secret api') as string });
  await set('default', 'db', 'sealed-2');
  await set('default', 'api', 'sealed-3');
  await world.until(() => world.running().length === 2, 'it has all that it waited for');
  const orders = world.hosts.get('h1')?.orders ?? [];
  expect(orders.find(({ allocation }) => allocation.job === 'reader')?.sealed).toEqual({
    db: 'sealed-2',
    api: 'sealed-3',
  });
  expect(orders.find(({ allocation }) => allocation.job === 'plain')).not.toHaveProperty('sealed');
});
