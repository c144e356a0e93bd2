import { describe, expect, it } from 'vitest';
import type { Fate } from '../../../support/memory-network.ts';
import { MemoryNetwork } from '../../../support/memory-network.ts';
import type { Route } from '../../../../src/ports/http.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const LISTEN = { host: '127.0.0.1', port: 0, bodyBytesMax: 100 };

/** A network whose next calls meet the given fates, with a server that counts what reached it. */
async function world(...fates: Fate[]) {
  const clock = new ManualClock();
  const reached: string[] = [];
  const network = new MemoryNetwork({ clock, fate: () => fates.shift() ?? 'pass' });
  const routes: Route[] = [
    {
      method: 'POST',
      path: '/v1/do/:what',
      right: 'read',
      handle: async ({ params }) => {
        reached.push(params['what'] ?? '');
        return { status: 200, body: {} };
      },
    },
    { method: 'GET', path: '/v1/never', right: 'read', handle: () => new Promise(() => undefined) },
    {
      method: 'GET',
      path: '/v1/stream',
      right: 'read',
      handle: async ({ signal }) => ({ status: 200, stream: quiet(signal, reached) }),
    },
  ];
  const listener = await network.server().listen(routes, LISTEN);
  const { address } = listener;
  const close = (): Promise<void> => listener.close(0);
  const client = network.client('me');
  const post = (what: string) =>
    client.call({ method: 'POST', url: `${address}/v1/do/${what}`, timeoutMs: 1_000 });
  return { clock, network, address, close, client, reached, post };
}

async function* quiet(signal: AbortSignal, reached: string[]): AsyncGenerator<string> {
  yield 'first';
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  reached.push('left');
}

describe('MemoryNetwork', () => {
  it('loses requests before and replies after the peer did its work; the caller sees no difference', async () => {
    const { post, reached } = await world('refuse', 'drop-request', 'drop-reply', 'pass');
    await expect(post('a')).rejects.toMatchObject({ sent: false });
    await expect(post('b')).rejects.toMatchObject({ sent: true });
    await expect(post('c')).rejects.toMatchObject({ sent: true });
    expect((await post('d')).status).toBe(200);
    expect(reached).toEqual(['c', 'd']);
  });

  it('ends calls at their deadline by the clock it was given', async () => {
    const { client, address, clock } = await world();
    const call = client.call({ method: 'GET', url: `${address}/v1/never`, timeoutMs: 500 });
    const ended = expect(call).rejects.toMatchObject({ sent: true });
    await clock.advance(499);
    await clock.advance(2);
    await ended;
    expect(clock.pending).toBe(0);
  });

  it.each(['cut', 'close', 'idle', 'leave'] as const)('ends a stream for both sides: %s', async (how) => {
    const { client, address, clock, network, close, reached } = await world();
    const leave = new AbortController();
    const call = {
      method: 'GET',
      url: `${address}/v1/stream`,
      timeoutMs: 500,
      idleTimeoutMs: 2_000,
    } as const;
    const stream = await client.stream({ ...call, signal: leave.signal });
    const read: string[] = [];
    const reading = (async () => {
      for await (const chunk of stream.chunks) read.push(Buffer.from(chunk).toString());
    })();
    const ended = expect(reading).rejects.toMatchObject({ name: 'HttpError', sent: true });
    await clock.advance(1_999);
    expect([read, reached]).toEqual([['first'], []]);
    if (how === 'cut') network.cut(address);
    if (how === 'close') await close();
    if (how === 'leave') leave.abort();
    await clock.advance(2);
    await ended;
    expect(reached).toEqual(['left']);
  });
});
