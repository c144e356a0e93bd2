import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt, CellStore } from '../../../src/ports/cell-store.ts';
import { allocationCodec } from '../../../src/wire/records.ts';
import { CellWorld, keys, makeJob } from './cell-world.ts';

/** Before the sweep, and before a host is told again that heard an order and has not come to its end. */
const SOON_MS = 1_000;

describe('a release that the store refuses', () => {
  let world: CellWorld;
  /** Releases that were sent. */
  let releases: number;

  beforeEach(() => {
    world = new CellWorld();
    releases = 0;
  });
  afterEach(() => world.close());

  /** Somebody else rewrites the record just before the first release of it arrives. */
  function overtaken(store: CellStore): CellStore {
    const attempt = async (asked: Attempt) => {
      const released = asked.writes.find(
        ({ kind, key }) => kind === 'delete' && key.startsWith(keys.allocations),
      );
      if (released !== undefined) releases += 1;
      const [record] = world.allocations();
      if (released !== undefined && releases === 1 && record !== undefined)
        await world.put(released.key, allocationCodec.encode(record));
      return await store.attempt(asked);
    };
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'attempt') return attempt;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  it('I55 a host that knew nothing of what it was to stop is asked again soon', async () => {
    const host = await world.host('h1');
    await world.scheduler({ id: 'service-1', kind: 'service' }, overtaken);
    const job = makeJob('web', { type: 'service' });
    await world.submit(job);
    await world.until(() => host.running.length === 1, 'the service');
    // It forgets everything, and nobody hears of it.
    host.reports.clear();
    await world.submit(job, 1, 'stop');
    await world.until(() => releases > 0, 'the refused release');
    await world.until(() => world.allocations().length === 0, 'the release', SOON_MS);
    expect({ releases, stops: host.stops.length }).toEqual({ releases: 2, stops: 2 });
    expect(world.ledgersAreTrue()).toBe(true);
  });
});
