import { describe, expect, it } from 'vitest';
import { hostRoutes } from '../../../host-agent/api/api.ts';
import { MemoryNetwork } from '../../support/memory-network.ts';
import { silentMetrics } from '../../../src/adapters/telemetry/silent.ts';
import { HostClient } from '../../../src/clients/host-client.ts';
import type { HttpClient } from '../../../src/ports/http.ts';
import { HostWorld } from '../../support/host-world.ts';
import { someStart, someStop } from '../../support/host-orders.ts';

async function served(
  network: MemoryNetwork,
): Promise<{ world: HostWorld; address: string; client: HostClient }> {
  const world = new HostWorld();
  const agent = await world.open();
  const routes = hostRoutes({
    prefix: '',
    find: () => ({ agent, ports: world.ports, attemptsKept: 3 }),
    ready: () => true,
    metrics: silentMetrics,
  });
  const listener = await network
    .server()
    .listen(routes, { host: 'memory', port: 0, bodyBytesMax: 64 * 1024 });
  return { world, address: listener.address, client: new HostClient(network.client()) };
}

describe('the client of a host', () => {
  it('S4.5 S4.32 starts, follows, stops and removes, and reads what was printed', async () => {
    const { world, address, client } = await served(new MemoryNetwork());
    const order = someStart();
    const { id } = order.allocation;
    expect(await client.get(address, id)).toBeNull();
    expect(await client.start(address, order)).toMatchObject({ kind: 'started', report: { id } });
    await world.until(id, (report) => report.state === 'running');
    await world.processes.print(`${id}.main.1`, 'hello\n');
    const log = await client.logs(address, id, { task: 'main', stream: 'stdout', offset: 2, follow: false });
    let text = '';
    for await (const chunk of log.chunks) text += Buffer.from(chunk).toString();
    expect([log.offset, text]).toEqual([2, 'llo\n']);
    expect(await client.remove(address, id, 'r')).toEqual({ kind: 'not-released' });
    expect(await client.stop(address, id, someStop())).toMatchObject({ kind: 'stopping' });
    await world.until(id, (report) => report.released);
    expect((await client.list(address)).allocations).toMatchObject([{ id, state: 'killed' }]);
    expect(await client.remove(address, id, 'r')).toEqual({ kind: 'removed' });
    expect(await client.stop(address, id, someStop())).toEqual({ kind: 'absent' });
    expect(await client.start(address, order)).toMatchObject({ kind: 'refused', code: 'stopped' });
  });

  it('a log that is not there is a problem with a reason', async () => {
    const { address, client } = await served(new MemoryNetwork());
    const request = { task: 'main', stream: 'stdout', offset: 0, follow: false } as const;
    await expect(client.logs(address, 'a1', request)).rejects.toMatchObject({
      problem: { code: 'no-allocation' },
    });
  });

  it('tells what was surely not done from what is unknown', async () => {
    let fate: 'refuse' | 'drop-reply' = 'refuse';
    const { world, address, client } = await served(new MemoryNetwork({ fate: () => fate }));
    const order = someStart();
    expect(await client.start(address, order)).toMatchObject({ kind: 'unknown', sent: false });
    expect(world.agent.run(order.allocation.id)).toBeUndefined();
    fate = 'drop-reply';
    expect(await client.start(address, order)).toMatchObject({ kind: 'unknown', sent: true });
    expect(world.agent.run(order.allocation.id)).toBeDefined();
    expect(await client.stop(address, order.allocation.id, someStop())).toMatchObject({
      kind: 'unknown',
      sent: true,
    });
  });

  it.each([408, 429, 500, 503])(
    'S4.5 a status %i refuses nothing: the order may have been taken',
    async (status) => {
      const answer = { status, headers: {}, body: { code: 'timeout', detail: 'too slow' } };
      const http = { call: () => Promise.resolve(answer) } as unknown as HttpClient;
      const client = new HostClient(http);
      expect(await client.start('http://host', someStart())).toMatchObject({ kind: 'unknown', sent: true });
      expect(await client.stop('http://host', 'a1', someStop())).toMatchObject({
        kind: 'unknown',
        sent: true,
      });
      expect(await client.remove('http://host', 'a1', 'r')).toMatchObject({ kind: 'unknown', sent: true });
    },
  );
});
