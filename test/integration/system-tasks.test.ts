import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BOOTSTRAP, HostOrders, TaskFailed } from '../../cli/bootstrap/host-orders.ts';
import { systemJob } from '../../cli/bootstrap/system-job.ts';
import type { RunningAgent } from '../../host-agent/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { BootstrapState, SystemTask } from '../../src/wire/join/bootstrap-file.ts';
import { TestAuthority } from '../support/credentials.ts';
import { removeFolder } from '../support/folders.ts';
import { PLAIN_SHIM } from '../support/real-host.ts';

const folder = mkdtempSync(join(tmpdir(), 'moorage-system-'));
let authority: TestAuthority;
let agent: RunningAgent;
let orders: HostOrders;

beforeAll(async () => {
  authority = await TestAuthority.of('c');
  const { signingKeyFile, pinnedKeysFile } = await makeKeyFiles(join(folder, 'keys'));
  const cell = new MemoryCell({ clock: systemClock });
  agent = await runAgent({
    ...{ cell: 'c', etcd: [], id: 'a', listen: { host: '127.0.0.1', port: 0 }, log: silentLog, version: '0' },
    ...{ stateFolder: join(folder, 'a'), pinnedKeysFile, shim: PLAIN_SHIM, stopTasksOnExit: true },
    ...{ allow: ['system'], store: new MemoryCellStore({ clock: systemClock, cell }) },
    reach: { credentials: await authority.credentials('agent', 'a') },
  });
  orders = await HostOrders.of(stateOf(), await authority.credentials('scheduler', BOOTSTRAP), {
    ...{ monitor: await authority.credentials('monitor', BOOTSTRAP), signingKeyFile, nowMs: Date.now },
  });
});
afterAll(async () => {
  await agent.stop();
  authority[Symbol.dispose]();
  removeFolder(folder);
});

const task = (id: string): SystemTask => ({
  ...{ name: `arbiter-${id}`, role: 'arbiter', id, host: 'a', allocation: `alloc-${id}` },
});

/** @param script what stands for this program there */
function stateOf(script = ''): BootstrapState {
  const host = { id: 'a', url: agent.address, program: ['sh', '-c', script], etcd: null, data: folder };
  return { cell: 'c', incarnation: 'i', hosts: [host], tasks: [task('x')] };
}

describe('S4.31 what a cell consists of, started without a cell', () => {
  it('S4.10 runs by an order with a ticket of the bootstrap, and by the same order again it still does', async () => {
    const job = systemJob(stateOf('sleep 1000'), task('x'));
    for (let n = 0; n < 2; n++) expect(await orders.start(task('x'), job)).toBe('runs');
    for (;;) {
      const report = await orders.report('a', 'alloc-x');
      if (report !== null && report !== 'away' && report.state === 'running') break;
      await pause(20);
    }
    await orders.check(task('x'));
  });

  it('S4.9 shows the end of the log of what fails', async () => {
    await orders.start(task('y'), systemJob(stateOf('echo it cannot start >&2; exit 3'), task('y')));
    const failed = async (): Promise<void> => {
      for (;;) {
        await orders.check(task('y'));
        await pause(20);
      }
    };
    const error: unknown = await failed().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(TaskFailed);
    expect(String(error)).toMatch(/arbiter-y on a does not run[\s\S]*\n {2}it cannot start/);
  });

  it('a host that does not answer is away', async () => {
    const gone = { ...stateOf(), hosts: [{ ...stateOf().hosts[0]!, url: 'https://127.0.0.1:1' }] };
    const { signingKeyFile } = await makeKeyFiles(join(folder, 'keys'));
    const others = await HostOrders.of(gone, await authority.credentials('scheduler', BOOTSTRAP), {
      ...{ monitor: await authority.credentials('monitor', BOOTSTRAP), signingKeyFile, nowMs: Date.now },
    });
    expect(await others.isThere('a')).toBe(false);
    expect(await others.report('a', 'alloc-x')).toBe('away');
    expect(await others.start(task('z'), systemJob(gone, task('z')))).toBe('away');
    await others.check(task('z'));
  });
});
