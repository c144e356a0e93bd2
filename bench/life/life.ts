/**
 * A service's life, measured on a cell of real processes: how long after the loss of its host the replacement runs, and how long
 * an update of a hundred instances takes on hollow hosts.
 *
 * `names.ts`: how long a change takes from a host's report through a monitor to the answer of another host's DNS, and how many changes
 * and lookups a second there are meanwhile.
 * `repair.ts`: how long until a task that died is replaced, where the monitor tells its scheduler, and where nobody does.
 * `storm.ts`: a rack of 3,000 hosts vanishes and returns, beside a tenant who lost nothing. `growth.ts`: runs and versions pass
 * through a cell, which stays as large as it is. `fetch.ts`: how a thousand hosts share one rate of fetches.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import { BenchCell } from '../cell/cell.ts';
import { flagsOf } from '../testbed/flags.ts';
import { startBed } from '../testbed/testbed.ts';

const flags = flagsOf({
  /** From the end of a host's session (10 s) to the verdict that it is lost, in the second measurement. */
  'lost-after': '1s',
  /** Instances that are updated, on so many hollow hosts, so many at a time. */
  ...{ instances: 100, hosts: 20, parallelism: 10 },
});
const CELL = 'bench';
const AGENTS = 3;
const POLL_MS = 20;
const http = undiciClient({});

/** A cell with what is started in it, ended in any case. */
async function onCell(
  monitorFlags: readonly string[],
  start: (cell: BenchCell, folder: string) => Promise<void>,
  measure: (client: MonitorClient, cell: BenchCell) => Promise<void>,
): Promise<void> {
  const bed = await startBed();
  const cell = new BenchCell(bed, CELL);
  try {
    await start(cell, bed.folder);
    const monitor = await cell.role('monitor', monitorFlags);
    await cell.role('scheduler', ['--kind', 'service', '--no-tickets']);
    await measure(new MonitorClient(http, { urls: [monitor.ready.address], from: 'the bench' }), cell);
  } finally {
    await cell.processes.stopAll();
    await bed.close();
  }
}

/** Asks until it holds. @returns the answer that did */
async function until(client: MonitorClient, holds: (status: JobStatus) => boolean): Promise<JobStatus> {
  for (;;) {
    const status = await client.status({ namespace: 'default', job: 'web' });
    if (holds(status)) return status;
    await sleep(POLL_MS);
  }
}

const runningOn = ({ allocations }: JobStatus): readonly string[] =>
  allocations
    .filter((one) => one.allocation.desired === 'run' && one.report?.state === 'running')
    .map((one) => one.allocation.host);

/** The agent of the only instance's host is killed; its task lives on, and nobody hears of it. */
async function lostHost(name: string, monitorFlags: readonly string[], wantedMs: number): Promise<void> {
  let folder = '';
  const agentOn = (cell: BenchCell, n: number) =>
    cell.role('agent', ['--no-tickets', '--data', join(folder, `data-${String(n)}`)], n);
  await onCell(
    monitorFlags,
    async (cell, of) => {
      folder = of;
      for (let n = 1; n <= AGENTS; n++) await agentOn(cell, n);
    },
    async (client, cell) => {
      await client.submit({
        ...{
          name: 'web',
          type: 'service',
          command: ['sleep', '600'],
          resources: { cpu: '10m', memory: '8Mi' },
        },
        reschedule: { onHostLost: true },
      });
      const [host = ''] = runningOn(await until(client, (status) => runningOn(status).length === 1));
      const agent = cell.processes.members.find((one) => one.name === host);
      if (agent === undefined) throw new Error(`there is no process of ${host}`);
      const startMs = performance.now();
      process.kill(agent.pid, 'SIGKILL');
      await until(client, (status) => runningOn(status).some((other) => other !== host));
      const ms = performance.now() - startMs;
      console.log(
        `life lost-host=${name} replaced_ms=${ms.toFixed(0)} wanted=replaced_ms<=${String(wantedMs)}`,
      );
      // Back again, it ends what lived on without it.
      await agentOn(cell, Number(host.replace('agent-', '')));
      await client.stop({ namespace: 'default', job: 'web' });
      await until(client, (status) => status.allocations.length === 0);
    },
  );
}

async function rollout(): Promise<void> {
  const { instances, hosts, parallelism } = flags;
  const size = ['--count', String(hosts), '--cpu', '16', '--memory', '32Gi', '--no-tickets'];
  await onCell(
    [],
    async (cell) => void (await cell.role('hollow', size)),
    async (client) => {
      const file = (version: string) => ({
        ...{ name: 'web', type: 'service', count: instances, command: ['hollow'], env: { VERSION: version } },
        resources: { cpu: '100m', memory: '64Mi' },
        update: { parallelism, minHealthy: '0s' },
      });
      await client.submit(file('1'));
      await until(client, (status) => runningOn(status).length === instances);
      const startMs = performance.now();
      await client.submit(file('2'));
      let fewest = instances;
      await until(client, (status) => {
        const running = runningOn(status).length;
        fewest = Math.min(fewest, running);
        const isNew = status.allocations.every(({ allocation }) => allocation.jobVersion === 2);
        return isNew && running === instances;
      });
      const ms = performance.now() - startMs;
      console.log(
        `life rollout instances=${String(instances)} hosts=${String(hosts)} parallelism=${String(parallelism)} ms=${ms.toFixed(0)}` +
          ` each_ms=${(ms / instances).toFixed(1)} fewest_running=${String(fewest)}`,
      );
    },
  );
}

await rollout();
await lostHost('default', [], 30_000);
await lostHost('configured', ['--lost-after', flags['lost-after']], 10_000);
await http.close();
