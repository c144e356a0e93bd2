import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CellUsage } from '../../../../src/wire/api/usage-api.ts';
import { until } from '../../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

it('S3.8 only hosts that hold what was asked for are asked, and who does not answer is named', async () => {
  const [one, other, gone] = await Promise.all(['h1', 'h2', 'h3'].map((id) => world.host(id)));
  const { address, monitor } = await world.monitor();
  await world.place(allocationOf('h1', 'a1'));
  await world.place(allocationOf('h1', 'b1', { job: 'db' }));
  await world.place(allocationOf('h2', 'b2', { job: 'db', index: 1 }));
  await world.place(allocationOf('h3', 'a2', { index: 1 }));
  await until(() => monitor.state.copy.allocations.size === 4, 'all allocations');
  const use = (id: string) => ({ id, cpuMs: 5, memoryBytes: 1, pids: 1 });
  if (one !== undefined) one.uses = [use('a1'), use('b1')];
  await gone?.close();
  const answer = await world.call('GET', `${address}/v1/usage?namespace=default&job=web`);
  const body = answer.body as CellUsage;
  expect(body.unreachable).toEqual(['h3']);
  expect(body.hosts).toMatchObject([{ host: 'h1', allocations: [{ id: 'a1' }] }]);
  expect(other?.usageAsked).toBe(0);
});
