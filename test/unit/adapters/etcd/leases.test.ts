import { EventEmitter } from 'node:events';
import type { Etcd3 } from 'etcd3';
import { expect, it } from 'vitest';
import { LeaseKeeper } from '../../../../src/adapters/etcd/leases.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const TTL_MS = 3_000;
const RENEWAL_MS = TTL_MS / 3;

/** A keeper, and the streams that it opened. */
async function world() {
  const clock = new ManualClock();
  const streams: EventEmitter[] = [];
  const leaseClient = {
    leaseGrant: async () => ({
      header: { cluster_id: '1', member_id: '1', revision: '1', raft_term: '1' },
      ID: '7',
    }),
    leaseRevoke: async () => undefined,
    leaseKeepAlive: async () => {
      const stream = Object.assign(new EventEmitter(), { write: () => true, cancel: () => undefined });
      streams.push(stream);
      return stream;
    },
  };
  const keeper = new LeaseKeeper({ leaseClient } as unknown as Etcd3, clock, () => () => undefined);
  const session = await keeper.open(TTL_MS);
  const answer = (): boolean => streams.at(-1)?.emit('data', { ID: '7', TTL: '3' }) ?? false;
  return { clock, streams, keeper, session, answer };
}

it('an answer that came during a pause of the process is read before its stream counts as dead', async () => {
  const { clock, streams, keeper, session, answer } = await world();
  for (let renewal = 0; renewal < 10; renewal++) {
    await clock.advance(RENEWAL_MS);
    await settle();
    // It is there all the time, and read some rounds after the timers that are due when the pause is over.
    clock.after(RENEWAL_MS, () => clock.after(0, () => clock.after(0, answer)));
  }
  expect(session.lost.aborted).toBe(false);
  expect(streams).toHaveLength(1);
  keeper.close();
});

it('each answer counts for the renewal that it answers, also when two come together', async () => {
  const { clock, keeper, session, answer } = await world();
  await clock.advance(RENEWAL_MS);
  clock.after(RENEWAL_MS, () => {
    answer();
    answer();
  });
  await clock.advance(RENEWAL_MS);
  await settle();
  expect(session.renewedAtMs).toBe(clock.monotonicMs());
  keeper.close();
});

it('a late answer of a stream that was given up counts for no renewal of the next one', async () => {
  const { clock, keeper, session, streams, answer } = await world();
  await clock.advance(2 * RENEWAL_MS);
  await settle();
  expect(streams).toHaveLength(2);
  const { renewedAtMs } = session;
  streams[0]?.emit('data', { ID: '7', TTL: '3' });
  await settle();
  expect(session.renewedAtMs).toBe(renewedAtMs);
  answer();
  await settle();
  expect(session.renewedAtMs).toBe(clock.monotonicMs());
  keeper.close();
});

it('a stream without an answer is opened anew at the next renewal, and its session ends in time', async () => {
  const { clock, streams, session } = await world();
  await clock.advance(2 * RENEWAL_MS);
  await settle();
  expect(streams).toHaveLength(2);
  await clock.advance(RENEWAL_MS);
  expect(session.lost.aborted).toBe(true);
});
