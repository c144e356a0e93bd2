import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RunningAgent } from '../../host-agent/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { linuxCgroups } from '../../src/adapters/processes/cgroups.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding, firstMissing, root } from '../support/needs.ts';
import { shimAndClient, startAgentChild, stateFolder, untilReport } from '../support/real-host.ts';
import { leaveStray } from '../support/strays.ts';

const { shim, client } = shimAndClient();
const LEAKS_MS = 100;
const DESERTED_MS = 1_500;

function startWatching(folder: string): Promise<RunningAgent> {
  return runAgent({
    ...{ cell: 'test', etcd: [], id: 'host-leaks', version: 'test', log: silentLog },
    listen: { host: '127.0.0.1', port: 0 },
    stateFolder: folder,
    requireTickets: false,
    stopTasksOnExit: true,
    store: new MemoryCellStore({ clock: systemClock }),
    shim: { kind: 'native', path: shim ?? '' },
    rounds: { leaksMs: LEAKS_MS },
    settings: { desertedMs: DESERTED_MS },
  });
}

const sleeper = () => someStart({ tasks: [someTask({ command: ['sleep', '1000'] })] });

describeNeeding(
  firstMissing(shim === null ? 'there is no C compiler' : null, root()),
  'S3.12 S3.57 what was left behind on a machine',
  () => {
    it('I29 a process and a group of an attempt that nobody knows go away, and what runs stays', async () => {
      using folder = stateFolder();
      const agent = await startWatching(folder.path);
      const order = { ...sleeper(), allocation: { ...sleeper().allocation, host: 'host-leaks' } };
      const { id } = order.allocation;
      await client.start(agent.address, order);
      const before = await untilReport(
        client,
        agent.address,
        id,
        (one) => one.tasks['main']?.pid !== undefined,
      );
      const stray = await leaveStray(folder.path);
      expect(isRunning(stray)).toBe(true);
      await until(
        async () => !isRunning(stray) && (await groupsWith('.gone.main.1', folder.path)).length === 0,
      );
      const metrics = await (await fetch(`${agent.address}/metrics`)).text();
      expect(metrics).toMatch(/moorage_host_leaks_total\{.*kind="processes".*\} [1-9]/);
      const after = await client.get(agent.address, id);
      expect(after?.tasks['main']?.pid).toBe(before.tasks['main']?.pid);
      expect(isRunning(after?.tasks['main']?.pid ?? 0)).toBe(true);
      await agent.stop();
    });

    it('a task whose state folder was deleted under it is ended by whoever else watches the machine, with its groups', async () => {
      using folder = stateFolder();
      const gone = stateFolder();
      const doomed = await startAgentChild(gone.path, shim ?? '');
      const order = sleeper();
      await client.start(doomed.address, order);
      const report = await untilReport(
        client,
        doomed.address,
        order.allocation.id,
        (one) => one.tasks['main']?.pid !== undefined,
      );
      const pid = report.tasks['main']?.pid ?? 0;
      const { stateId } = JSON.parse(readFileSync(join(gone.path, 'identity'), 'utf8')) as {
        stateId: string;
      };
      const claim = join(gone.path, 'attempts', `${order.allocation.id}.main.1`, 'claim');
      const shimPid = (JSON.parse(readFileSync(claim, 'utf8')) as { pid: number }).pid;
      await doomed.end('SIGKILL');
      expect(await groupsNamed(stateId)).not.toEqual([]);
      rmSync(gone.path, { recursive: true });
      const agent = await startWatching(folder.path);
      await until(async () => !isRunning(pid) && (await groupsNamed(stateId)).length === 0);
      // It has nobody left to tell.
      await until(async () => !isRunning(shimPid));
      await agent.stop();
    });

    it('too many that do not go away close the host for newcomers; it says so, and comes back when they are gone', async () => {
      using folder = stateFolder();
      const agent = await startWatching(folder.path);
      const servers = await Promise.all(Array.from({ length: 9 }, () => listenAnywhere()));
      for (const server of servers)
        writeFileSync(join(folderOf(folder.path, 'leases/port'), String(portOf(server))), 'gone');
      const order = () => ({ ...sleeper(), allocation: { ...sleeper().allocation, host: 'host-leaks' } });
      let refused = false;
      await until(async () => {
        const one = order();
        const answer = await client.start(agent.address, one);
        if (answer.kind === 'started') await client.stop(agent.address, one.allocation.id, someStop());
        refused = answer.kind === 'refused' && answer.code === 'leaking';
        return refused;
      });
      for (const server of servers) await new Promise((done) => server.close(done));
      await until(async () => (await client.start(agent.address, order())).kind === 'started');
      // It opens as soon as few enough are left.
      await until(() => Promise.resolve(readdirSync(join(folder.path, 'leases/port')).length === 0));
      await agent.stop();
    });
  },
);

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function groupsNamed(part: string): Promise<readonly string[]> {
  const cgroups = linuxCgroups();
  const lists = (await cgroups.mounts()).map(({ path }) => cgroups.list(join(path, 'moorage')));
  return (await Promise.all(lists)).flat().filter((name) => name.includes(part));
}

async function groupsWith(end: string, folder: string): Promise<readonly string[]> {
  const { stateId } = JSON.parse(readFileSync(join(folder, 'identity'), 'utf8')) as { stateId: string };
  return (await groupsNamed(stateId)).filter((name) => name.endsWith(end));
}

function listenAnywhere(): Promise<Server> {
  const server = createServer();
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port;
}

/** Made by hand: nothing was leased here yet. */
function folderOf(state: string, path: string): string {
  const folder = join(state, path);
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  return folder;
}

async function until(test: () => Promise<boolean>): Promise<void> {
  while (!(await test())) await new Promise((next) => setTimeout(next, 20));
}
