import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Eligibility } from '../../../../src/core/host/host.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { eligibilityCodec } from '../../../../src/wire/records/records.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { CellWorld, keys, makeJob, marksStops } from '../cell-world.ts';

let world: CellWorld;
beforeEach(() => (world = new CellWorld()));
afterEach(() => world.close());

/** As an operator writes it: the eligibility and, with its state, the ledger. */
async function operate(host: string, state: Eligibility['state']): Promise<void> {
  const { counter } = world.ledger(host);
  const record = { state, reason: '', by: 'operator', sinceMs: 0, counter: counter + 1 };
  await world.put(keys.eligibilityOf(host), eligibilityCodec.encode(record));
  await world.setEligibility(host, state);
}

describe('a stop for the state of a host', () => {
  it('I63 is not written when an operator has ended the drain meanwhile', async () => {
    let marks = 0;
    const wrap = (store: CellStore): CellStore =>
      withCalls(store, {
        attempt: async (attempt) => {
          if (!marksStops(attempt)) return store.attempt(attempt);
          marks += 1;
          await operate('h1', 'ready');
          return store.attempt(attempt);
        },
      });
    const host = await world.host('h1');
    await world.scheduler({ id: 'service-1', kind: 'service' }, wrap);
    await world.submit(makeJob('web', { type: 'service' }, { count: 1 }));
    await world.until(() => host.running.length === 1, 'the start');
    await operate('h1', 'draining');
    await world.until(() => marks > 0, 'a mark');
    await world.clock.advance(10_000);
    expect(marks).toBe(1);
    expect(world.allocations().map(({ desired }) => desired)).toEqual(['run']);
    expect(host.running).toHaveLength(1);
  });

  it('I62 is written while the drain goes on', async () => {
    const host = await world.host('h1');
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('web', { type: 'service' }, { count: 1 }));
    await world.until(() => host.running.length === 1, 'the start');
    await operate('h1', 'draining');
    await world.until(() => host.running.length === 0, 'its end');
  });
});
