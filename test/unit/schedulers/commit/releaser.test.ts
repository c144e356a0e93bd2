import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Term } from '../../../../schedulers/state/state.ts';
import { Entry, OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import { Releaser } from '../../../../schedulers/commit/releaser.ts';
import type { Allocation, Outcome } from '../../../../src/core/cell/allocation.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import type { Attempt, CellStore } from '../../../../src/ports/cell-store.ts';
import { allocationCodec } from '../../../../src/wire/records/records.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

/** Before the sweep, and before a host that confirmed an order is ordered again. */
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
    return withCalls(store, { attempt });
  }

  it('I55 a host that knew nothing of what it was to stop is asked again soon', async () => {
    const host = await world.host('h1');
    await world.scheduler({ id: 'service-1', kind: 'service' }, overtaken);
    const job = makeJob('web', { type: 'service' });
    await world.submit(job);
    await world.until(() => host.running.length === 1, 'the service');
    // It forgets everything without a report.
    host.reports.clear();
    await world.submit(job, 1, 'stop');
    await world.until(() => releases > 0, 'the refused release');
    await world.until(() => world.allocations().length === 0, 'the release', SOON_MS);
    expect({ releases, stops: host.stops.length }).toEqual({ releases: 2, stops: 2 });
    expect(world.ledgersAreTrue()).toBe(true);
  });
});

describe('a release while members of its gang are being committed', () => {
  const hold = async (isReported: boolean) => {
    const said: string[] = [];
    const job = new OwnedJob(
      { job: makeJob('gang', {}, { count: 2, gang: true }), version: 1, desired: 'run', submittedAtMs: 0 },
      1,
      1,
    );
    const entry = new Entry({ id: 'a', group: 'gang', host: 'h' } as Allocation, 5, 'started');
    job.entries.set('a', entry);
    if (isReported) entry.report = { released: true, state: 'failed' } as AllocationReport;
    const term = {
      signal: new AbortController().signal,
      enqueue: () => said.push('enqueue'),
      reload: () => said.push('reload'),
      commit: () => Promise.reject(new Error('not to be committed')),
    } as unknown as Term;
    const releaser = new Releaser(term);
    let end: () => void = () => undefined;
    job.setCommit('gang', new Promise<void>((resolve) => (end = resolve)));
    releaser.release(job, entry, { state: 'failed' } as Outcome);
    const turns = () => new Promise((resolve) => setImmediate(resolve));
    await turns();
    expect([said, entry.releasing]).toEqual([[], false]);
    // What is written of it now is not what it was released with.
    entry.marking = true;
    end();
    await turns();
    return { said, entry };
  };

  it('I6 is decided again afterwards', async () => {
    const { said, entry } = await hold(true);
    expect([said, entry.releasing, entry.needsVerify]).toEqual([['enqueue'], false, false]);
  });

  it('I6 I55 is read again when its host has not reported it', async () => {
    const { said, entry } = await hold(false);
    expect([said, entry.releasing, entry.needsVerify]).toEqual([['reload'], false, true]);
  });
});
