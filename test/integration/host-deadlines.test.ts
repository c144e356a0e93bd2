import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RunningAgent } from '../../host-agent/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { stopReasonFile } from '../../src/wire/host-files/host-files.ts';
import { exitFile, stoppingFile } from '../../src/wire/host-files/attempt-files.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding } from '../support/needs.ts';
import type { TestFolder } from '../support/real-host.ts';
import { shimAndClient, stateFolder, untilReport } from '../support/real-host.ts';

const { shim: compiled, client } = shimAndClient();

/** Long enough that it is seen to run, and its agent gone, before it is over. */
const OVER_MS = 5_000;
/** A start that would be done again and again by its restart policy. */
const ALWAYS = { attempts: 100, windowMs: 60_000, delayMs: 0, on: 'always' as const };
const SLEEPER = someTask({ command: ['sleep', '1000'], stop: { signal: 'SIGTERM', graceMs: 500 } });
const runs = (report: AllocationReport): boolean => report.state === 'running';
const isReleased = (report: AllocationReport): boolean => report.released;

describeNeeding(compiled === null ? 'there is no C compiler' : null, 'deadlines of a real host', () => {
  let folder: TestFolder;
  let store: MemoryCellStore;
  let agent: RunningAgent;

  const open = async (): Promise<void> => {
    store = new MemoryCellStore({ clock: systemClock });
    agent = await runAgent({
      ...{ cell: 'test', etcd: [], id: 'host-a', version: 'test', log: silentLog, requireTickets: false },
      listen: { host: '127.0.0.1', port: 0 },
      stateFolder: folder.path,
      shim: { kind: 'native', path: compiled ?? '' },
      // Renewed three times as often, and lost by none that stands still for less than that.
      aliveTtlMs: 3_000,
      rounds: { beatMs: 50 },
      store,
    });
  };
  const contentOf = (path: string): string => readFileSync(join(folder.path, path), 'utf8');
  const until = (id: string, test: (report: AllocationReport) => boolean): Promise<AllocationReport> =>
    untilReport(client, agent.address, id, test);
  /** When the shim has written the end, with no agent that would look. */
  const exitOf = async (attempt: string): Promise<ReturnType<typeof exitFile.decode>> => {
    while (!existsSync(join(folder.path, 'attempts', attempt, 'exit')))
      await new Promise((again) => setTimeout(again, 20));
    return exitFile.decode(contentOf(`attempts/${attempt}/exit`));
  };

  beforeEach(async () => {
    folder = stateFolder();
    await open();
  });
  afterEach(async () => {
    await agent.stop();
    folder[Symbol.dispose]();
  });

  it('I16 I26 the longest run is kept by the shim while no agent is there, and the next agent knows why', async () => {
    const order = someStart({
      tasks: [SLEEPER],
      restart: ALWAYS,
      deadlineMs: OVER_MS,
    });
    const { id } = order.allocation;
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
    await until(id, runs);
    await agent.stop();
    expect(await exitOf(`${id}.main.1`)).toMatchObject({ signal: 'SIGTERM', stoppedBy: 'run-max' });
    // The word was there before the kill, as the agent's own would have been.
    expect(stoppingFile.decode(contentOf(`attempts/${id}.main.1/stopping`))).toMatchObject({
      why: 'run-max',
    });
    await open();
    expect(await until(id, isReleased)).toMatchObject({
      ...{ state: 'failed', reason: 'deadline', restarts: 0, exit: { signal: 'SIGTERM' } },
    });
    expect(stopReasonFile.decode(contentOf(`allocations/${id}/verdict.json`)).why).toBe('deadline');
  });

  it('I16 a task that is to stop when cut off runs while the store is heard, and is stopped when it is not', async () => {
    const order = someStart({
      tasks: [SLEEPER],
      restart: ALWAYS,
      stopAfterDisconnectMs: OVER_MS,
    });
    const stays = someStart({ tasks: [SLEEPER] });
    const { id } = order.allocation;
    for (const one of [order, stays])
      expect(await client.start(agent.address, one)).toMatchObject({ kind: 'started' });
    const { startedAtMs = 0 } = await until(id, runs);
    // Longer than its shim would have let it without news.
    await until(id, () => Date.now() > startedAtMs + 1.5 * OVER_MS);
    expect((await client.get(agent.address, id))?.state).toBe('running');
    store.cutOff();
    expect(await until(id, isReleased)).toMatchObject({
      ...{ state: 'failed', reason: 'disconnected', restarts: 0 },
    });
    expect(stopReasonFile.decode(contentOf(`allocations/${id}/verdict.json`)).why).toBe('disconnected');
    const other = await client.get(agent.address, stays.allocation.id);
    expect(other).toMatchObject({ state: 'running', reason: '' });
    await client.stop(agent.address, stays.allocation.id, someStop());
    await until(stays.allocation.id, isReleased);
  });

  it('I16 with its agent gone it is stopped by its shim, and stays so', async () => {
    const order = someStart({
      tasks: [SLEEPER],
      restart: ALWAYS,
      stopAfterDisconnectMs: OVER_MS,
    });
    const { id } = order.allocation;
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
    await until(id, runs);
    await agent.stop();
    expect(await exitOf(`${id}.main.1`)).toMatchObject({ signal: 'SIGTERM', stoppedBy: 'disconnect' });
    await open();
    expect(await until(id, isReleased)).toMatchObject({
      ...{ state: 'failed', reason: 'disconnected', restarts: 0 },
    });
  });
});
