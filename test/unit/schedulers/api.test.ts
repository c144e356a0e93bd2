import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SchedulerClient } from '../../../src/clients/scheduler-client.ts';
import { roleCodec } from '../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from './cell-world.ts';

describe("a scheduler's API", () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const addressOf = (id: string): string =>
    roleCodec.decode(world.cell.get(keys.role('scheduler', id))?.value ?? '').address;

  it('says why a job waits, with the nearest miss first, and what it does', async () => {
    await world.host('h1', 500);
    await world.host('h2', 1_500);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('big', {}, { count: 2 }, 2_000));
    const client = new SchedulerClient(world.network.client());
    await world.until(() => world.owners().length === 1, 'the owner');
    await world.clock.advance(1_000);
    const address = addressOf('batch-1');
    const why = await client.why(address, 'default', 'big');
    expect(why?.summary).toContain('big: parked: no host fits (2 by resources of 2); nearest h2');
    expect(why?.groups[0]).toMatchObject({ pending: 2, stage: 'parked', hostsTotal: 2 });
    expect(why?.groups[0]?.hosts.map(({ host }) => host)).toEqual(['h2', 'h1']);
    expect(await client.why(address, 'default', 'other')).toBeNull();
    expect(await client.status(address)).toMatchObject({
      id: 'batch-1',
      kind: 'batch',
      jobsOwned: 1,
      pending: 2,
    });
  });

  it('S3.43 tells its events from the first that it kept, numbered without a gap', async () => {
    const host = await world.host('h1');
    host.behaviour = () => 'complete';
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('hello'));
    await world.until(() => world.outcomes().length === 1 && world.owners().length === 0, 'the end');
    const stop = new AbortController();
    const kinds: string[] = [];
    const client = new SchedulerClient(world.network.client());
    for await (const event of await client.events(addressOf('batch-1'), stop.signal)) {
      kinds.push(event.kind);
      expect(event.seq).toBe(kinds.length);
      if (event.kind === 'finished') break;
    }
    stop.abort();
    expect(kinds).toEqual(['owned', 'placed', 'started', 'released', 'finished']);
  });
});
