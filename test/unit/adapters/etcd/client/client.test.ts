import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { etcdClient } from '../../../../../src/adapters/etcd/client/client.ts';

const LENGTH_PREFIX_BYTES = 5;
/** A quarter of what may be on its way, and sixteen times what HTTP/2 lets go by default. */
const BURST_BYTES = 1024 * 1024;

describe('the connection to etcd', () => {
  let server: Http2Server;
  let url: string;
  const sessions: ServerHttp2Session[] = [];
  beforeEach(async () => {
    server = createServer();
    server.on('session', (session) => sessions.push(session));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  afterEach(async () => {
    for (const session of sessions.splice(0)) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('takes a burst of a watch whole, without a turn of the event loop for each 64 KiB', async () => {
    const etcd = etcdClient({ endpoints: [url] });
    const opened = new Promise<ServerHttp2Stream>((resolve) => server.once('stream', resolve));
    const link = await etcd.watchLink();
    link.on('error', () => undefined);
    try {
      link.write({ watchId: 1, key: 'a', rangeEnd: 'b' });
      const stream = await opened;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' });
      const window = (): number =>
        Math.min(
          stream.session?.state.remoteWindowSize ?? 0,
          stream.session?.remoteSettings.initialWindowSize ?? 0,
        );
      while (window() < LENGTH_PREFIX_BYTES + BURST_BYTES)
        await new Promise((resolve) => stream.session?.ping(() => setImmediate(resolve)));
      const received = new Promise<number>((resolve) => link.on('data', ({ revision }) => resolve(revision)));
      stream.write(watchReplyOf(BURST_BYTES));
      expect(await received).toBe(7);
    } finally {
      link.cancel();
      etcd.close();
    }
  });
});

/** A `WatchResponse` at revision 7 with so many bytes of an unknown field. */
function watchReplyOf(bytes: number): Buffer {
  const header = Buffer.from([0x0a, 0x02, 0x18, 0x07]);
  const padding = Buffer.concat([Buffer.from([0x7a]), varint(bytes), Buffer.alloc(bytes)]);
  const prefix = Buffer.alloc(LENGTH_PREFIX_BYTES);
  prefix.writeUInt32BE(header.length + padding.length, 1);
  return Buffer.concat([prefix, header, padding]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    bytes.push(left < 128 ? left : (left % 128) | 128);
    if (left < 128) return Buffer.from(bytes);
  }
}
