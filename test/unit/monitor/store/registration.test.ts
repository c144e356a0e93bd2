import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Session } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import type { CellStatus } from '../../../../src/wire/api/cell-api.ts';
import type { JobStatus } from '../../../../src/wire/api/monitor-api.ts';
import type { Why } from '../../../../src/wire/api/scheduler-api.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => (world = new MonitorWorld()));
afterEach(() => world.close());

/** A store that renews no session while it is away, and opens none. */
function leavingStore() {
  const inner = world.newStore();
  let isAway = false;
  let lose: () => void = () => undefined;
  const openSession = async (options: { readonly ttlMs: number }): Promise<Session> => {
    if (isAway) throw new StoreError('unavailable', 'it is away', { retryable: true });
    const session = await inner.openSession(options);
    const lost = new AbortController();
    lose = () => lost.abort();
    return {
      ...{ id: session.id, lost: lost.signal, renewedAtMs: session.renewedAtMs },
      close: () => session.close(),
    };
  };
  return {
    store: withCalls(inner, { openSession }),
    leave: () => {
      isAway = true;
      lose();
    },
    come: () => (isAway = false),
  };
}

it('I57 while the store is away the cell, a job and why say so, and since when; no longer when it answers', async () => {
  const { store, leave, come } = leavingStore();
  const { address } = await world.monitor('m1', { store });
  await world.call('POST', `${address}/v1/jobs`, { name: 'web', type: 'service', command: ['x'] });
  const answers = async () => ({
    cell: (await world.call('GET', `${address}/v1/cell`)).body as CellStatus,
    job: (await world.call('GET', `${address}/v1/jobs/default/web`)).body as JobStatus,
    why: ((await world.call('GET', `${address}/v1/jobs/default/web/why`)).body as Why).summary,
  });
  const before = await answers();
  expect([before.cell.storeAwaySinceMs, before.job.storeAwaySinceMs]).toEqual([undefined, undefined]);

  const sinceMs = world.clock.nowMs();
  leave();
  await world.pass(12, []);
  const away = await answers();
  expect([away.cell.storeAwaySinceMs, away.job.storeAwaySinceMs]).toEqual([sinceMs, sinceMs]);
  expect(away.why).toMatch(/^the store has not answered for 12s: nothing is placed, moved or stopped/);

  come();
  await world.pass(4, []);
  const after = await answers();
  expect([after.cell.storeAwaySinceMs, after.job.storeAwaySinceMs]).toEqual([undefined, undefined]);
  expect(after.why).not.toContain('the store');
});
