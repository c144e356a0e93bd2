import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import type { JobListAnswer } from '../../../../src/wire/api/monitor-api.ts';
import { until } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

const RUN = { name: 'hello', command: ['true'] };

describe('a monitor that is behind another one', () => {
  let world: MonitorWorld;
  /** What the watch of the second monitor holds back; null: nothing is. */
  let held: (() => void)[] | null;
  let one: string;
  let two: string;
  beforeEach(async () => {
    world = new MonitorWorld();
    held = null;
    const deliver = (call: () => void): void => {
      if (held === null) queueMicrotask(call);
      else held.push(call);
    };
    const store = new MemoryCellStore({ clock: world.clock, cell: world.cell, deliver });
    one = (await world.monitor('m1')).address;
    const second = await world.monitor('m2', { store });
    two = second.address;
    await until(() => second.monitor.state.copy.roles.size === 2);
    held = [];
  });
  afterEach(() => world.close());

  const release = (): void => {
    const calls = held ?? [];
    held = null;
    for (const call of calls) call();
  };
  const runAtOne = async (): Promise<string> => {
    const made = await world.call('POST', `${one}/v1/runs`, RUN, { 'idempotency-key': 'k' });
    return made.headers['x-revision'] ?? '';
  };
  const listAtTwo = (revision: string) =>
    world.call('GET', `${two}/v1/jobs`, undefined, { 'x-min-revision': revision });

  it('answers when it has caught up, with what the other one said', async () => {
    const answer = listAtTwo(await runAtOne());
    release();
    expect(((await answer).body as JobListAnswer).jobs).toHaveLength(1);
  });

  it('says 503 with Retry-After when it stays behind, and still answers those who do not mind', async () => {
    const revision = await runAtOne();
    const answer = listAtTwo(revision);
    await world.clock.advance(2_000);
    expect(await answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { code: 'behind', detail: expect.stringContaining(`not yet up to ${revision}`) as string },
    });
    const careless = await world.call('GET', `${two}/v1/jobs`);
    expect(careless).toMatchObject({ status: 200, body: { jobs: [] } });
    release();
  });

  it('answers with what there is when the store never had that revision: it was restored', async () => {
    const answer = listAtTwo('999999');
    await world.clock.advance(2_000);
    expect(await answer).toMatchObject({ status: 200 });
    release();
  });

  it('refuses what is no revision', async () => {
    expect(await listAtTwo('soon')).toMatchObject({ status: 400, body: { path: 'x-min-revision' } });
    release();
  });

  it('a write answers with its own revision, though the copy of the monitor does not hold it yet', async () => {
    const made = await world.call('POST', `${two}/v1/jobs`, { ...RUN, name: 'web' });
    const bulk = await world.call('POST', `${two}/v1/jobs/bulk`, [{ ...RUN, name: 'many' }]);
    const [first, second] = [made, bulk].map(({ headers }) => Number(headers['x-revision']));
    expect(first).toBe(second === undefined ? 0 : second - 2);
    release();
    const at = await world.call('GET', `${one}/v1/jobs`, undefined, { 'x-min-revision': String(second) });
    expect((at.body as JobListAnswer).jobs).toHaveLength(2);
  });
});
