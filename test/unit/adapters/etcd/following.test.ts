import { EventEmitter } from 'node:events';
import type { WatchLink } from '../../../../src/adapters/etcd/client/direct-client.ts';
import type { WatchEvent } from '../../../../src/adapters/etcd/client/watch-codec.ts';
import { expect, it } from 'vitest';
import { EtcdFollowing } from '../../../../src/adapters/etcd/following.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { Recorder } from '../../../contract/cell-store.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

/** A follow over streams that the test speaks for. */
async function world() {
  const clock = new ManualClock();
  const streams: EventEmitter[] = [];
  const open = async (): Promise<WatchLink> => {
    const nothing = (): void => undefined;
    const more = { write: nothing, cancel: nothing, pause: nothing, resume: nothing };
    const stream = Object.assign(new EventEmitter(), more);
    streams.push(stream);
    return stream;
  };
  const listed = { revision: 10 };
  const seen = new Recorder();
  const following = new EtcdFollowing('/a/', seen, {
    etcd: { watchLink: open },
    ...{ clock, log: silentLog, canaryKey: '/canary', behindMax: 100, onClose: () => undefined },
    list: async () => ({ ...listed, entries: new Map() }),
  });
  await following.ready;
  await settle();
  const send = (modRevision: number, storeRevision: number): boolean | undefined =>
    streams.at(-1)?.emit('data', {
      ...{ revision: storeRevision, watchId: 1, canceled: false, compactRevision: 0 },
      ...{ hasEvents: true, isFragment: false },
      readEvents: (skips: (revision: number) => boolean, take: (event: WatchEvent) => void): void => {
        const entry = { key: '/a/x', value: '1', createRevision: 11, modRevision };
        if (!skips(modRevision)) take({ isDelete: false, entry });
      },
    });
  return { clock, streams, listed, seen, following, send };
}

it('a watch that is far behind lists again instead of catching up', async () => {
  const { clock, streams, listed, seen, following, send } = await world();
  send(11, 111);
  expect(seen.revisions).toHaveLength(1);
  expect(streams).toHaveLength(1);
  listed.revision = 500;
  send(12, 113);
  await clock.advance(1_000);
  expect(seen.snapshots.map((snapshot) => snapshot.revision)).toEqual([10, 500]);
  expect(streams).toHaveLength(2);
  following.close();
});

it('a watch is silent when neither a canary nor a change came through since it was written', async () => {
  const { clock, streams, seen, following, send } = await world();
  await clock.advance(10);
  const writtenAtMs = clock.monotonicMs();
  await clock.advance(2_000);
  send(11, 11);
  following.expectCanary(writtenAtMs);
  await clock.advance(1_000);
  expect(streams).toHaveLength(1);
  following.expectCanary(clock.monotonicMs() + 1);
  await clock.advance(1_000);
  expect(streams).toHaveLength(2);
  expect(seen.snapshots).toHaveLength(2);
  following.close();
});
