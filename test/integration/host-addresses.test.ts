import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { runAgent } from '../../host-agent/main.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding } from '../support/needs.ts';
import { shimAndClient, stateFolder, untilReport } from '../support/real-host.ts';

const { shim: compiled, client } = shimAndClient();
/** Of no pool that another test lends from. */
const POOL = ['127.64.202.1', '127.64.202.2'] as const;

/** Listens on the address that it is lent, and says so. */
const SERVER = `require('node:net').createServer().listen(0, process.env.MOORAGE_ADDRESS, () => console.log('up'))`;

function serving() {
  return someStart({
    allocation: { resources: { cpuMilli: 10, memoryMib: 64, diskMib: 0, scalars: { addresses: 1 } } },
    tasks: [someTask({ command: [process.execPath, '-e', SERVER] })],
  });
}

describeNeeding(compiled === null ? 'there is no C compiler' : null, 'addresses of a real machine', () => {
  it('S1.38 I45 a process that nobody lent an address to keeps it: starts get another one or are refused', async () => {
    using folder = stateFolder();
    const agent = await runAgent({
      ...{ cell: 'test', etcd: [], id: 'host-a', version: 'test', log: silentLog, requireTickets: false },
      listen: { host: '127.0.0.1', port: 0 },
      stateFolder: folder.path,
      stopTasksOnExit: true,
      shim: { kind: 'native', path: compiled ?? '' },
      store: new MemoryCellStore({ clock: systemClock }),
      addresses: POOL,
    });
    const until = (id: string, test: (report: AllocationReport) => boolean): Promise<AllocationReport> =>
      untilReport(client, agent.address, id, test);
    const stranger = createServer().listen(0, POOL[0]);
    try {
      await once(stranger, 'listening');
      const first = serving();
      expect(await client.start(agent.address, first)).toMatchObject({ kind: 'started' });
      expect(await until(first.allocation.id, (one) => one.state === 'running')).toMatchObject({
        addresses: [POOL[1]],
      });
      expect(await client.start(agent.address, serving())).toMatchObject({
        ...{ kind: 'refused', code: 'no-fit' },
        detail: `addresses: 1 needed, 0 available; in use on this host by others: ${POOL[0]}`,
      });
      await new Promise((done) => stranger.close(done));
      const second = serving();
      expect(await client.start(agent.address, second)).toMatchObject({ kind: 'started' });
      expect((await client.get(agent.address, second.allocation.id))?.addresses).toEqual([POOL[0]]);
      for (const { allocation } of [first, second]) {
        await client.stop(agent.address, allocation.id, someStop());
        await until(allocation.id, (one) => one.released);
      }
    } finally {
      stranger.close();
      await agent.stop();
    }
  });
});
