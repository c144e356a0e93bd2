import { describe, expect, it } from 'vitest';
import { HOLLOW_MISSING_COMMAND } from '../../../../src/adapters/memory/processes.ts';
import { silentMetrics } from '../../../../src/adapters/telemetry/silent.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { DiskError } from '../../../../src/ports/disk.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { someStart, someStop, someTask } from '../../../support/host-orders.ts';

const isReleased = (report: AllocationReport): boolean => report.released;
const runs = (report: AllocationReport): boolean => report.state === 'running';

async function host(): Promise<HostWorld> {
  const world = new HostWorld();
  await world.open();
  return world;
}

describe('the life of an allocation', () => {
  it('S4.1 a host alone starts, runs to the end and lists, with nobody else there', async () => {
    const world = await host();
    const order = someStart({ tasks: [someTask({ env: { HOLLOW_RUN_MS: '1000' } })] });
    const accepted = await world.agent.start(order);
    expect(accepted.released).toBe(false);
    await world.until(order.allocation.id, runs);
    const ended = await world.until(order.allocation.id, isReleased);
    expect(ended).toMatchObject({ state: 'complete', exit: { code: 0 }, restarts: 0 });
    expect(world.agent.listing().allocations.map((one) => one.id)).toEqual([order.allocation.id]);
  });

  it('a command that is not there fails the allocation, and the reason names it', async () => {
    const world = await host();
    const order = someStart({ tasks: [someTask({ command: [HOLLOW_MISSING_COMMAND] })] });
    await world.agent.start(order);
    const ended = await world.until(order.allocation.id, isReleased);
    expect(ended.state).toBe('failed');
    expect(ended.reason).toBe(`task main: cannot run "${HOLLOW_MISSING_COMMAND}": not found`);
  });

  it('S0.18 failures are restarted on this host as often as the policy says, then the allocation fails', async () => {
    const world = await host();
    const order = someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '10', HOLLOW_EXIT_CODE: '3' } })],
      restart: { attempts: 5, windowMs: 3_600_000, delayMs: 100, on: 'failure' },
    });
    await world.agent.start(order);
    const ended = await world.until(order.allocation.id, isReleased);
    expect(ended).toMatchObject({ state: 'failed', restarts: 5, exit: { code: 3 } });
    expect(ended.reason).toContain('restarted 5 of 5 times');
  });

  it('a restart that the disk does not take is tried again with growing pauses, and made when it does', async () => {
    const world = new HostWorld();
    let failed = 0;
    const count = (name: string): void => {
      // Without pauses it would never come back from here.
      if (name === 'moorage_host_steps_failed_total' && ++failed > 100) world.disk.failWrites(null);
    };
    world.metrics = { ...silentMetrics, count };
    await world.open();
    const order = someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '10', HOLLOW_EXIT_CODE: '3' } })],
      restart: { attempts: 1, windowMs: 3_600_000, delayMs: 1_000, on: 'failure' },
    });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, ({ tasks }) => tasks['main']?.exit !== undefined);
    world.disk.failWrites(new DiskError('io', 'no'));
    await world.clock.advance(11_000);
    expect(world.agent.report(id).restarts).toBe(0);
    expect(failed).toBeGreaterThan(2);
    expect(failed).toBeLessThan(30);
    world.disk.failWrites(null);
    await world.until(id, isReleased);
    expect(world.agent.report(id)).toMatchObject({ state: 'failed', restarts: 1 });
  });

  it('a deadline that falls due between two tries of a restart does not wait for the next', async () => {
    const world = await host();
    const order = someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '10', HOLLOW_EXIT_CODE: '3' } })],
      restart: { attempts: 1, windowMs: 3_600_000, delayMs: 100, on: 'failure' },
      deadlineMs: 30_000,
    });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, ({ tasks }) => tasks['main']?.exit !== undefined);
    world.disk.failWrites(new DiskError('io', 'no'));
    await world.clock.advance(29_900);
    expect(world.agent.report(id).state).not.toBe('stopping');
    await world.clock.advance(200);
    expect(world.agent.report(id).state).toBe('stopping');
    world.disk.failWrites(null);
    await world.until(id, isReleased);
    expect(world.agent.report(id)).toMatchObject({ state: 'failed', reason: 'deadline', restarts: 0 });
  });

  it('restarts outside the window do not count', async () => {
    const world = await host();
    const order = someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '1000', HOLLOW_EXIT_CODE: '1' } })],
      restart: { attempts: 2, windowMs: 1_500, delayMs: 0, on: 'failure' },
    });
    await world.agent.start(order);
    await world.until(order.allocation.id, (report) => report.restarts >= 6);
    expect(world.agent.report(order.allocation.id).state).toBe('running');
  });

  it('S0.22 what was stopped is not started again, and the verdict is there before the signal', async () => {
    const world = await host();
    const order = someStart({
      tasks: [someTask()],
      restart: { attempts: 9, windowMs: 60_000, delayMs: 0, on: 'always' },
    });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, runs);
    const stopping = await world.agent.stop(id, someStop({ cause: 'enough' }));
    expect(stopping.state).toBe('stopping');
    expect(await world.disk.read(`allocations/${id}/verdict.json`)).toContain('enough');
    const ended = await world.until(id, isReleased);
    expect(ended).toMatchObject({
      state: 'killed',
      reason: 'enough',
      exit: { signal: 'SIGTERM' },
      restarts: 0,
    });
  });

  it('a task that ignores its signal is killed when the grace is over, and not before', async () => {
    const world = await host();
    const task = someTask({
      env: { HOLLOW_IGNORES_SIGNALS: '1' },
      stop: { signal: 'SIGINT', graceMs: 2_000 },
    });
    const order = someStart({ tasks: [task] });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, runs);
    await world.agent.stop(id, someStop());
    await world.clock.advance(1_900);
    expect(world.processes.signalsOf(`${id}.main.1`)).toEqual(['SIGINT']);
    expect(world.agent.report(id).state).toBe('stopping');
    const ended = await world.until(id, isReleased);
    expect(ended.exit).toEqual({ signal: 'SIGKILL' });
  });

  it('S3.6 sidecars are stopped when all other tasks have ended, and do not decide the outcome', async () => {
    const world = await host();
    const order = someStart({
      tasks: [
        someTask({ env: { HOLLOW_RUN_MS: '500' } }),
        someTask({ name: 'log', sidecar: true }),
        someTask({ name: 'crashing', sidecar: true, env: { HOLLOW_RUN_MS: '10', HOLLOW_EXIT_CODE: '1' } }),
      ],
    });
    await world.agent.start(order);
    const ended = await world.until(order.allocation.id, isReleased);
    expect(ended.state).toBe('complete');
    expect(ended.tasks['log']).toMatchObject({ state: 'killed', exit: { signal: 'SIGTERM' } });
  });

  it('when one main task fails, the others are stopped', async () => {
    const world = await host();
    const order = someStart({
      tasks: [
        someTask({ name: 'bad', env: { HOLLOW_RUN_MS: '10', HOLLOW_EXIT_CODE: '2' } }),
        someTask({ name: 'good' }),
      ],
    });
    await world.agent.start(order);
    const ended = await world.until(order.allocation.id, isReleased);
    expect(ended).toMatchObject({ state: 'failed', exit: { code: 2 } });
    expect(ended.reason).toContain('task bad exited with code 2');
    expect(ended.tasks['good']).toMatchObject({ state: 'killed' });
  });

  it('a deadline ends it, counted from the first start', async () => {
    const world = await host();
    const order = someStart({ deadlineMs: 3_000 });
    await world.agent.start(order);
    await world.until(order.allocation.id, runs);
    const before = world.clock.monotonicMs();
    const ended = await world.until(order.allocation.id, isReleased);
    expect(ended).toMatchObject({ state: 'failed', reason: 'deadline' });
    expect(world.clock.monotonicMs() - before).toBeGreaterThanOrEqual(2_950);
  });

  it('I16 it is stopped when its host has not heard of the cell for so long, and no sooner', async () => {
    const world = await host();
    const order = someStart({
      stopAfterDisconnectMs: 20_000,
      restart: { attempts: 5, windowMs: 60_000, delayMs: 0, on: 'always' },
    });
    await world.agent.start(order);
    const { id } = order.allocation;
    await world.until(id, runs);
    for (let i = 0; i < 6; i++) {
      await world.clock.advance(15_000);
      await world.agent.noteContact(world.clock.monotonicMs());
    }
    expect(world.agent.report(id).state).toBe('running');
    const before = world.clock.monotonicMs();
    const ended = await world.until(id, isReleased);
    expect(ended).toMatchObject({ state: 'failed', reason: 'disconnected', restarts: 0 });
    expect(world.clock.monotonicMs() - before).toBeGreaterThanOrEqual(19_000);
  });

  it('S1.38 it is released only when its ports are free', async () => {
    const world = await host();
    const order = someStart({
      allocation: { ports: { http: 20_001 } },
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '1000' } })],
    });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, runs);
    world.processes.takePort(20_001);
    await world.until(id, (report) => report.state === 'complete');
    await world.clock.advance(5_000);
    expect(world.agent.report(id).released).toBe(false);
    world.processes.freePort(20_001);
    await world.until(id, isReleased);
  });

  it('S0.20 a missed event costs time only: the scan finds the end', async () => {
    const world = await host();
    const order = someStart();
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, runs);
    await world.disk.publish(
      `attempts/${id}.main.1/exit`,
      JSON.stringify({ v: 1, code: 7, out: 0, err: 0, atMs: 1, by: 'shim' }),
    );
    world.agent.rescan();
    const ended = await world.until(id, isReleased);
    expect(ended.exit).toEqual({ code: 7 });
  });

  it('a shim that died without a word ends the attempt, which is then restarted', async () => {
    const world = await host();
    const order = someStart({ restart: { attempts: 1, windowMs: 60_000, delayMs: 0, on: 'failure' } });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, runs);
    world.processes.loseShim(`${id}.main.1`);
    world.agent.rescan();
    const again = await world.until(id, (report) => report.restarts === 1 && report.state === 'running');
    expect(again.tasks['main']).toMatchObject({ state: 'running' });
    world.processes.loseShim(`${id}.main.2`);
    world.agent.rescan();
    const ended = await world.until(id, isReleased);
    expect(ended).toMatchObject({ state: 'lost', exit: { lost: 'shim-died' } });
  });
});

describe('a shutdown delay', () => {
  const order = (runMs: number) =>
    someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: String(runMs) } })],
      restart: { attempts: 5, windowMs: 3_600_000, delayMs: 0, on: 'always' },
      shutdownDelayMs: 5_000,
    });

  it('an order to stop is told at once, and the task gets its signal when the delay is over', async () => {
    const world = await host();
    const start = order(9_000_000);
    const { id } = start.allocation;
    await world.agent.start(start);
    await world.until(id, runs);
    expect((await world.agent.stop(id, someStop())).state).toBe('stopping');
    await world.clock.advance(4_900);
    expect(world.agent.report(id).tasks['main']).toMatchObject({ state: 'running' });
    await world.clock.advance(200);
    expect(await world.until(id, isReleased)).toMatchObject({ state: 'killed', restarts: 0 });
  });

  it('one that was told to stop and ends by itself is not started again, and nothing waits', async () => {
    const world = await host();
    const start = order(3_000);
    const { id } = start.allocation;
    await world.agent.start(start);
    await world.until(id, runs);
    await world.agent.stop(id, someStop());
    await world.clock.advance(3_500);
    expect(world.agent.report(id)).toMatchObject({ released: true, restarts: 0 });
  });
});
