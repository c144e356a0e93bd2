import { afterEach, beforeEach, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { Pause } from '../../../../src/core/quota/pauses.ts';
import { roleCodec } from '../../../../src/wire/records/records.ts';
import { pauseRecord } from '../../../support/pauses.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld;
beforeEach(() => (world = new CellWorld()));
afterEach(() => world.close());

const pause = (of: Partial<Pause>): Promise<void> => world.put(...pauseRecord(keys, of));
const running = (): readonly string[] => [...new Set(world.running().map(({ job }) => job))].sort();

async function whyOf(job: string, namespace = 'default'): Promise<string> {
  const { address } = roleCodec.decode(world.cell.get(keys.role('scheduler', 'batch-1'))?.value ?? '');
  const why = await new SchedulerClient(world.network.client()).why(address, namespace, job);
  return why?.summary ?? '';
}

it('S0.23 S3.59 S3.20 placement paused for a namespace or a job holds only its own, says why, and goes on at its end', async () => {
  await world.host('h1', 4_000);
  await world.scheduler({ id: 'batch-1' });
  await pause({ namespace: 'default', job: 'held' });
  await pause({ namespace: 'quiet' });
  for (const name of ['held', 'free']) await world.submit(makeJob(name));
  await world.submit({ ...makeJob('other'), namespace: 'quiet' });
  await world.until(() => running().join() === 'free', 'the job that nobody paused');
  await world.clock.advance(60_000);
  expect(running()).toEqual(['free']);
  expect(await whyOf('held')).toMatch(
    /^held: paused: placement: paused of job default\/held by ada since .*: new disks$/,
  );
  expect(await whyOf('other', 'quiet')).toContain('paused in namespace quiet by ada');
  await pause({ namespace: 'default', job: 'held', endedAtMs: 1 });
  await world.until(() => running().join() === 'free,held', 'what goes on', 1_000);
  await pause({ namespace: 'quiet', endedAtMs: 1 });
  await world.until(() => running().length === 3, 'the rest', 1_000);
});

it('S3.59 placement paused on a host, or on a pool of them, goes elsewhere; where nothing is left it waits with the reason', async () => {
  await world.host('h1', 1_000, { pool: 'new' });
  const { events } = await world.scheduler({ id: 'batch-1' });
  await pause({ host: 'h1' });
  await world.submit(makeJob('first', {}, {}, 600));
  await world.until(() => events.some(({ kind }) => kind === 'parked'), 'parking');
  expect(await whyOf('first')).toContain('nearest h1: placement paused on host h1 by ada');
  await world.host('h2', 1_000);
  await world.until(() => running().length === 1, 'the other host');
  expect(world.allocations().map(({ host }) => host)).toEqual(['h2']);
  await pause({ pool: 'new' });
  await pause({ host: 'h1', endedAtMs: 1 });
  await world.submit(makeJob('second', {}, {}, 600));
  await world.clock.advance(60_000);
  expect(running()).toEqual(['first']);
  await pause({ pool: 'new', endedAtMs: 1 });
  await world.until(() => running().length === 2, 'the pool to be used', 2_000);
});
