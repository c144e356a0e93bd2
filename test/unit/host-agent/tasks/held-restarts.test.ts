import { expect, it } from 'vitest';
import { FIRST_WORD_MS, HostPauses } from '../../../../host-agent/tasks/held-restarts.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import type { Pause } from '../../../../src/core/quota/pauses.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { pauseRecord } from '../../../support/pauses.ts';

const keys = cellKeys('test');

/** A host whose agent hears operators through a store, and a task there that fails every 10 ms. */
async function failing() {
  const world = new HostWorld();
  const { clock } = world;
  const store = new MemoryCellStore({ clock, cell: new MemoryCell({ clock }) });
  const open = async (): Promise<HostPauses> => {
    const pauses = new HostPauses({ clock, log: silentLog });
    world.restarts = pauses.of(() => world.agent.host);
    await world.open();
    return pauses;
  };
  const pause = async (of: Partial<Pause>): Promise<void> => {
    const [key, value] = pauseRecord(keys, { what: 'restarts', ...of });
    await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
    await clock.advance(10);
  };
  const follow = (pauses: HostPauses): void => pauses.follow(store, keys, () => world.agent.rescan());
  const order = someStart({
    tasks: [someTask({ env: { HOLLOW_RUN_MS: '10', HOLLOW_EXIT_CODE: '3' } })],
    restart: { attempts: 1_000, windowMs: 3_600_000, delayMs: 100, on: 'failure' },
  });
  const { id, namespace, job } = order.allocation;
  const restarts = (): number => world.agent.report(id).restarts;
  return { world, clock, open, pause, follow, order, id, namespace, job, restarts };
}

it('S3.59 S3.20 while restarts are paused nothing is started again, the report says why, and it goes on at the end', async () => {
  const { world, clock, open, pause, follow, order, id, namespace, job, restarts } = await failing();
  follow(await open());
  await world.agent.start(order);
  await world.until(id, (report) => report.restarts > 2);
  for (const scope of [{}, { namespace }, { namespace, job }, { host: 'host-a' }]) {
    await pause(scope);
    const before = restarts();
    await clock.advance(10_000);
    expect(restarts()).toBeLessThanOrEqual(before + 1);
    expect(world.agent.report(id)).toMatchObject({ state: 'running' });
    expect(world.agent.report(id).reason).toMatch(
      /^task main is not started again: restarts are paused.* by ada/,
    );
    await pause({ ...scope, endedAtMs: 1 });
    await pause({ namespace: 'another' });
    await pause({ what: 'placement' });
    await world.until(id, (report) => report.restarts > before + 2);
    expect(world.agent.report(id).reason).toBe('');
  }
});

it('S3.59 a new agent starts nothing again before it has heard of pauses; without the store it goes on soon', async () => {
  const { world, clock, open, pause, follow, order, id, restarts } = await failing();
  follow(await open());
  await world.agent.start(order);
  await world.until(id, (report) => report.restarts > 2);
  await pause({});
  await clock.advance(1_000);
  const before = restarts();
  await world.loseAgent();
  await clock.advance(1_000);
  const pauses = await open();
  await clock.advance(FIRST_WORD_MS / 2);
  expect(restarts()).toBe(before);
  follow(pauses);
  await clock.advance(10_000);
  expect(restarts()).toBe(before);
  await world.loseAgent();
  await open();
  await world.until(id, (report) => report.restarts > before + 2);
});

it('S3.20 S3.19 restarts of one version are slowed to one in so long, and those of another are not', async () => {
  const { world, clock, open, pause, follow, order, id, namespace, job, restarts } = await failing();
  const { jobVersion: version } = order.allocation;
  follow(await open());
  await world.agent.start(order);
  await world.until(id, (report) => report.restarts > 2);
  await pause({ namespace, job, version: version + 1, everyMs: 60_000 });
  const before = restarts();
  await world.until(id, (report) => report.restarts > before + 2);
  await pause({ namespace, job, version, everyMs: 60_000 });
  const slowed = restarts();
  await clock.advance(30_000);
  expect(restarts()).toBeLessThanOrEqual(slowed + 1);
  await world.until(id, (report) => report.restarts > slowed + 1);
});
