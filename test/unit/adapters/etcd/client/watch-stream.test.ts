import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { versionWarning } from '../../../../../src/adapters/etcd/server-version.ts';
import { encodeWatchReply } from '../../../../../src/adapters/etcd/client/reply-codec.ts';
import type { WatchEvent } from '../../../../../src/adapters/etcd/client/watch-codec.ts';
import { decodeWatchReply } from '../../../../../src/adapters/etcd/client/watch-codec.ts';
import { WatchStream } from '../../../../../src/adapters/etcd/client/watch-stream.ts';
import type { Change, StoreError } from '../../../../../src/ports/cell-store.ts';
import { settle } from '../../../../support/manual-clock.ts';

/** The server's side of a watch stream, played by the test. */
class ServerSide extends EventEmitter {
  readonly requests: unknown[] = [];
  cancelled = false;

  write(request: unknown): void {
    this.requests.push(request);
  }

  cancel(): void {
    this.cancelled = true;
  }

  pause(): void {
    // The test sends what it likes.
  }

  resume(): void {
    // The test sends what it likes.
  }

  /** Events as `[revision, key, value]`; a missing value is a deletion. */
  send(events: readonly [number, string, string?][], more: object = {}): void {
    this.emit('data', {
      ...{ revision: 50, watchId: 1, canceled: false, compactRevision: 0, isFragment: false },
      hasEvents: events.length > 0,
      readEvents: (skips: (revision: number) => boolean, take: (event: WatchEvent) => void): void => {
        for (const [revision, key, value] of events)
          if (!skips(revision))
            take({
              isDelete: value === undefined,
              entry: { key, value: value ?? '', modRevision: revision, createRevision: revision },
            });
      },
      ...more,
    });
  }
}

function turnOfEvents(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function opened(knows?: (revision: number) => boolean, onRevision?: () => void) {
  const server = new ServerSide();
  const reported: string[] = [];
  const ends: StoreError[] = [];
  const etcd = { watchLink: async () => server };
  const stream = new WatchStream({
    ...{
      etcd,
      range: { from: '/a/', to: '/a0' },
      fromRevision: 10,
      canaryKey: '/canary',
    },
    onRevision: (changes, revision) => {
      onRevision?.();
      const keys = changes.map((change) => (change.kind === 'put' ? change.entry.key : `-${change.key}`));
      reported.push(`${String(revision)}: ${keys.join(' ')}`);
    },
    ...(knows === undefined ? null : { knows }),
    onCanary: () => reported.push('canary'),
    onLag: (behind) => reported.push(`behind ${String(behind)}`),
    onEnd: (cause) => ends.push(cause),
  });
  await settle();
  return { server, reported, ends, stream };
}

describe('watch stream', () => {
  it('trap 6: drops what was reported before, and gathers each revision in order', async () => {
    const { server, reported } = await opened();
    server.send([
      [9, '/a/late', 'x'],
      [10, '/a/x', '1'],
      [10, '/a/y', '1'],
      [12, '/a/x'],
    ]);
    server.send([
      [10, '/a/x', '1'],
      [12, '/a/x'],
      [13, '/a/x', '2'],
    ]);
    expect(reported).toEqual(['10: /a/x /a/y', '12: -/a/x', 'behind 38', '13: /a/x', 'behind 37']);
  });

  it('reports a revision whole, though it comes in several fragments', async () => {
    const { server, reported } = await opened();
    server.send(
      [
        [10, '/a/x', '1'],
        [12, '/a/x', '2'],
      ],
      { isFragment: true },
    );
    expect(reported).toEqual(['10: /a/x']);
    server.send([[12, '/a/y', '2']], { isFragment: true });
    server.send([
      [12, '/a/z', '2'],
      [13, '/a/x', '3'],
    ]);
    expect(reported).toEqual(['10: /a/x', '12: /a/x /a/y /a/z', '13: /a/x', 'behind 37']);
  });

  it('leaves out whole revisions that are known, and asks only when all before them was reported', async () => {
    const known = new Set([11, 13]);
    const asked: number[] = [];
    const { server, reported } = await opened((revision) => {
      asked.push(revision);
      return known.has(revision);
    });
    server.send(
      [
        [10, '/a/x', '1'],
        [11, '/a/x', '2'],
        [11, '/a/y', '2'],
      ],
      { isFragment: true },
    );
    server.send([
      [11, '/a/z', '2'],
      [12, '/a/x', '3'],
      [13, '/a/x', '4'],
      [14, '/a/y', '5'],
      [11, '/a/y', '2'],
    ]);
    // Replies of the same turn are known to it.
    known.add(14);
    expect(reported).toEqual([]);
    await turnOfEvents();
    expect(reported).toEqual(['10: /a/x', '12: /a/x', 'behind 36']);
    expect(asked).toEqual([10, 11, 12, 13, 14]);
    // A revision that began before it was known is reported whole.
    server.send([[15, '/a/x', '6']], { isFragment: true });
    await turnOfEvents();
    known.add(15);
    server.send([[15, '/a/y', '6']]);
    await turnOfEvents();
    expect(reported.slice(3)).toEqual(['15: /a/x /a/y', 'behind 35']);
  });

  it('what came in the turn in which the stream ended is not reported', async () => {
    const { server, reported, ends } = await opened(() => false);
    server.send([[20, '/a/x', '1']]);
    server.emit('end');
    await turnOfEvents();
    expect(ends).toHaveLength(1);
    expect(reported).toEqual([]);
  });

  it('reports what another writer put under the same key right after a known revision, and in the same message', async () => {
    const { server, reported } = await opened((revision) => revision === 10);
    const put = (value: string, modRevision: number): Change => ({
      ...{ kind: 'put', entry: { key: '/a/x', value, createRevision: 10, modRevision } },
    });
    const changes = [10, 11].map((revision) => ({ revision, changes: [put(String(revision), revision)] }));
    server.emit('data', decodeWatchReply(encodeWatchReply(1, changes)));
    await turnOfEvents();
    expect(reported).toEqual(['11: /a/x', 'behind 0']);
  });

  it('ends at an unreadable message, after reporting what came before', async () => {
    for (const knows of [undefined, (): boolean => false]) {
      const { server, reported, ends } = await opened(knows);
      const bytes = encodeWatchReply(1, [
        { revision: 10, changes: [{ kind: 'delete', key: '/a/x' }] },
        { revision: 11, changes: [{ kind: 'delete', key: '/a/y' }] },
        { revision: 12, changes: [{ kind: 'delete', key: '/a/z' }] },
      ]);
      // The key's length: longer than the message about it.
      bytes[bytes.lastIndexOf('/a/z') - 1] = 0x7f;
      const reply = decodeWatchReply(bytes);
      server.emit('data', reply);
      await turnOfEvents();
      expect(reported).toEqual(['10: -/a/x']);
      expect(ends).toMatchObject([
        { code: 'unavailable', retryable: true, cause: { name: 'MalformedMessage' } },
      ]);
      server.send([[13, '/a/x', '1']]);
      await turnOfEvents();
      expect(reported).toHaveLength(1);
    }
  });

  it('does not take a fault of its listener for one of the stream', async () => {
    const { server, ends } = await opened(undefined, () => {
      throw new RangeError('of the listener');
    });
    expect(() =>
      server.send([
        [10, '/a/x', '1'],
        [11, '/a/x', '2'],
      ]),
    ).toThrow('of the listener');
    expect(ends).toEqual([]);
  });

  it('keeps the canary apart', async () => {
    const { server, reported } = await opened();
    expect(server.requests).toHaveLength(2);
    server.send([[40, '/canary', 'n:1']], { watchId: 2 });
    expect(reported).toEqual(['canary']);
  });

  for (const [name, end] of [
    ['an error', (server: ServerSide) => server.emit('error', new Error('14 UNAVAILABLE'))],
    ['the end of the stream', (server: ServerSide) => server.emit('end')],
    ['a cancellation', (server: ServerSide) => server.send([], { canceled: true })],
    ['a compaction', (server: ServerSide) => server.send([], { canceled: true, compactRevision: 30 })],
  ] as const) {
    it(`trap 3: ends once on ${name}, and reports nothing after it`, async () => {
      const { server, reported, ends } = await opened();
      end(server);
      end(server);
      server.send([[20, '/a/x', '1']]);
      expect(ends).toHaveLength(1);
      expect(ends[0]?.retryable).toBe(true);
      expect(reported).toEqual([]);
      expect(server.cancelled).toBe(true);
    });
  }

  it('closed by its owner, it ends without a word', async () => {
    const { server, ends, stream } = await opened();
    stream.close();
    server.emit('error', new Error('1 CANCELLED'));
    expect(ends).toEqual([]);
  });
});

describe('versions of etcd', () => {
  it('are spoken of when they are past their life or have known faults', () => {
    expect(versionWarning('3.4.23')).toContain('end of life');
    expect(versionWarning('3.3.10')).toContain('too old');
    expect(versionWarning('3.5.16')).toContain('3.5.28');
    for (const sound of ['3.5.28', '3.6.9', '3.7.0', '3.6.10-rc.1']) expect(versionWarning(sound)).toBeNull();
  });
});
