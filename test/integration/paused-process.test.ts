import { expect, it } from 'vitest';
import { Recorder } from '../contract/cell-store.ts';
import { useEtcd } from '../support/etcd.ts';

const etcd = useEtcd();
const TTL_MS = 6_000;
/** Longer than from one renewal to the next, and shorter than what a session may be without one. */
const PAUSE_MS = 2_200;
const PAUSES = 5;

/** As under a load of many processes: this one does nothing, and its timers are due before it reads what came in. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}

it('a session, and a watch, outlive pauses of their process that are shorter than the session', async () => {
  const store = etcd.store({ canaryIntervalMs: 2_000 });
  const seen = new Recorder();
  const following = store.follow(`/moorage/${etcd.cellName()}/`, seen);
  await following.ready;
  const session = await store.openSession({ ttlMs: TTL_MS });
  for (let n = 0; n < PAUSES; n++) {
    pause();
    await store.read([]);
  }
  expect(session.lost.aborted).toBe(false);
  expect(seen.snapshots).toHaveLength(1);
  following.close();
  await session.close();
});
