import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AgentOptions, RunningAgent } from '../../host-agent/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import { shimAndClient, stateFolder, untilReport } from '../support/real-host.ts';
import { fill, mountSmallDisk } from '../support/small-disk.ts';

const { shim, client } = shimAndClient();
const compiled = shim === null ? 'there is no C compiler' : null;

function startAgent(folder: string, more: Partial<AgentOptions>): Promise<RunningAgent> {
  return runAgent({
    ...{ cell: 'test', etcd: [], id: 'host-a', version: 'test', log: silentLog, requireTickets: false },
    listen: { host: '127.0.0.1', port: 0 },
    stateFolder: folder,
    stopTasksOnExit: true,
    store: new MemoryCellStore({ clock: systemClock }),
    shim: { kind: 'native', path: shim ?? '' },
    ...more,
  });
}

function shell(script: string) {
  return someTask({ command: ['sh', '-c', script], stop: { signal: 'SIGTERM', graceMs: 300 } });
}

/** A state folder on a file system of a few MiB of its own. */
function smallDisk(mib: number) {
  const folder = stateFolder();
  const disk = mountSmallDisk(folder.path, mib);
  return {
    path: folder.path,
    [Symbol.dispose]: () => {
      disk[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

describeNeeding(firstMissing(compiled, root()), 'a real disk that is full', () => {
  it('I32 keeps tasks and stops them, refuses new ones, and takes them again when there is space', async () => {
    using disk = smallDisk(12);
    const agent = await startAgent(disk.path, { settings: { freeBytesMin: 256 * 1024 } });
    const [kept, stopped] = [
      someStart({ tasks: [shell('exec sleep 1000')] }),
      someStart({ tasks: [shell('while :; do echo line; sleep 0.01; done')] }),
    ];
    for (const order of [kept, stopped]) {
      expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
      await untilReport(client, agent.address, order.allocation.id, (one) => one.state === 'running');
    }
    fill(join(disk.path, 'filler'));
    const late = someStart();
    expect(await client.start(agent.address, late)).toMatchObject({ kind: 'refused', code: 'disk-full' });
    // Not acknowledged where it cannot be recorded, and carried out all the same.
    const { id } = stopped.allocation;
    await client.stop(agent.address, id, someStop({ cause: 'enough' }));
    const ended = await untilReport(client, agent.address, id, (one) => one.released);
    expect(ended).toMatchObject({ state: 'killed', reason: 'enough', exit: { signal: 'SIGTERM' } });
    expect(await client.get(agent.address, kept.allocation.id)).toMatchObject({ state: 'running' });
    rmSync(join(disk.path, 'filler'));
    // The one that was refused stays refused, also from memory: the disk took no line about it.
    expect(await client.start(agent.address, late)).toMatchObject({ kind: 'refused', code: 'disk-full' });
    const next = someStart();
    expect(await client.start(agent.address, next)).toMatchObject({ kind: 'started' });
    await untilReport(client, agent.address, next.allocation.id, (one) => one.released);
    await agent.stop();
  });
});

const HOG = `
import time
held = []
while True:
    held.append(bytearray(b'x' * 4 * 1024 * 1024))
    time.sleep(0.05)
`;

describeNeeding(firstMissing(compiled, root(), program('python3')), 'a host that gives away too much', () => {
  it('S3.10 ends the lowest class before the kernel does, says why, and the guaranteed task lives', async () => {
    using folder = stateFolder();
    const agent = await startAgent(folder.path, {
      capacity: { memoryMib: 300 },
      reserved: { memoryMib: 0 },
    });
    const memory = (memoryMib: number) => ({ cpuMilli: 10, memoryMib, diskMib: 0, scalars: {} });
    const safe = someStart({
      allocation: { precedence: 90, resources: memory(100) },
      tasks: [
        {
          ...someTask(),
          resources: memory(100),
          command: ['python3', '-c', 'x = b"x" * 60_000_000; import time; time.sleep(1000)'],
        },
      ],
    });
    const hog = someStart({
      allocation: { precedence: 10, resources: memory(20) },
      tasks: [{ ...someTask(), command: ['python3', '-c', HOG], limits: { memoryMib: 1_000 } }],
    });
    for (const order of [safe, hog])
      expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
    const before = await untilReport(
      client,
      agent.address,
      safe.allocation.id,
      (one) => one.state === 'running',
    );
    const pid = before.tasks['main']?.pid ?? 0;
    expect(readFileSync(`/proc/${String(pid)}/oom_score_adj`, 'utf8').trim()).toBe('0');
    const ended = await untilReport(client, agent.address, hog.allocation.id, (one) => one.released);
    expect(ended.state).toBe('failed');
    expect(ended.reason).toMatch(/^memory pressure: .*, this one \d+ MiB with 20 MiB asked for/);
    expect(ended.exit).toEqual({ signal: 'SIGKILL' });
    expect(await client.get(agent.address, safe.allocation.id)).toMatchObject({ state: 'running' });
    await agent.stop();
  });
});
