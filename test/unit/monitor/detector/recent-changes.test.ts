import { afterEach, beforeEach, expect, it } from 'vitest';
import { RecentChanges } from '../../../../monitor/detector/recent-changes.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';
import { until } from '../../../support/manual-clock.ts';
import { jobOf, MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

it('S3.23 a version was submitted shortly before it failed, also when it is replaced by now', async () => {
  const { monitor } = await world.monitor();
  const job = jobOf({ name: 'web', type: 'service' });
  const record = (version: number) =>
    jobCodec.encode({ job, version, desired: 'run', submittedAtMs: world.clock.nowMs() });
  const bad = record(2);
  await world.clock.advance(60_000);
  await world.write([
    { kind: 'put', key: world.keys.version('default', 'web', 2), value: bad },
    { kind: 'put', key: world.keys.job('default', 'web'), value: record(3) },
  ]);
  await until(() => monitor.state.copy.jobs.get('default/web') !== undefined);
  const changes = new RecentChanges(monitor.state);
  const nowMs = world.clock.monotonicMs();
  expect(changes.textsOf('revision/default/web/web/2', nowMs)).toEqual([
    'was submitted 60 s before the first failure',
  ]);
  expect(changes.textsOf('revision/default/web/web/3', nowMs)).toEqual([
    'was submitted 0 s before the first failure',
  ]);
  expect(changes.before('revision/default/web/web/1', nowMs)).toBeNull();
});
