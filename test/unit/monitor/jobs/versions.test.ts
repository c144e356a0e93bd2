import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RolloutRecord } from '../../../../src/core/cell/rollout.ts';
import type { HistoryAnswer, JobStatus } from '../../../../src/wire/api/monitor-api.ts';
import { jobCodec, rolloutCodec } from '../../../../src/wire/records/records.ts';
import { until } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const FILE = { name: 'web', type: 'service', command: ['one'], update: { autoRevert: true } };
const PATH = '/v1/jobs/default/web';

async function started() {
  const { monitor, address } = await world.monitor();
  const call = (method: 'GET' | 'POST', path: string, body?: object) =>
    world.call(method, `${address}${path}`, body);
  const submit = (changes: object = {}) => call('POST', '/v1/jobs', { ...FILE, ...changes });
  const record = async (of: Partial<RolloutRecord>) => {
    const value = rolloutCodec.encode({ version: 1, state: 'done', sinceMs: 0, reason: '', ...of });
    const key = world.keys.rollout('default', 'web');
    await world.store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
    await until(() => monitor.state.copy.rolloutOf('default/web')?.version === of.version);
  };
  const job = async () => await world.read(world.keys.job('default', 'web'), jobCodec);
  await submit();
  return { monitor, call, submit, record, job };
}

describe('versions of a job through a monitor', () => {
  it('J1 K2 an update that failed is undone to the last good version once, by one of the monitors', async () => {
    const { submit, record, job, call } = await started();
    await world.monitor('m2');
    await record({ version: 1, good: 1 });
    await submit({ command: ['two'] });
    await record({ version: 2, state: 'failed', reason: 'web: broken', good: 1 });
    for (let i = 0; i < 20; i++) await world.clock.advance(100);
    await until(() => true);
    expect(await job()).toMatchObject({ version: 3, restores: 1 });
    expect((await job())?.job.groups['web']?.tasks['web']?.command).toEqual(['one']);
    // The same spec fails again: it is not undone to itself.
    await record({ version: 3, state: 'failed', reason: 'web: broken', good: 1 });
    for (let i = 0; i < 20; i++) await world.clock.advance(100);
    expect((await job())?.version).toBe(3);
    const { versions } = (await call('GET', `${PATH}/history`)).body as HistoryAnswer;
    expect(versions.map(({ version, good, restores }) => [version, good, restores])).toEqual([
      [3, false, 1],
      [2, false, null],
      [1, true, null],
    ]);
  });

  it('a failed update of a job that does not ask for it stays, and undo goes to the version before', async () => {
    const { submit, record, job, call } = await started();
    await submit({ command: ['two'], update: {} });
    await record({ version: 2, state: 'failed', reason: 'web: broken' });
    for (let i = 0; i < 20; i++) await world.clock.advance(100);
    expect((await job())?.version).toBe(2);
    expect((await call('POST', `${PATH}/undo`)).body).toMatchObject({ version: 3, changed: true });
    expect(await job()).toMatchObject({ version: 3, restores: 1, rollout: { promoted: true } });
    expect((await call('POST', `${PATH}/undo`, { version: 9 })).body).toMatchObject({
      code: 'no-such-version',
    });
  });

  it('scale keeps what was said of the update under way; a new file does not, and a restart is carried on', async () => {
    const { submit, record, job, call } = await started();
    const restarted = await call('POST', `${PATH}/restart`);
    expect(restarted.body).toMatchObject({ version: 2, changed: true });
    await record({ version: 2, good: 2 });
    expect((await call('POST', `${PATH}/rollout`, { act: 'pause' })).body).toMatchObject({
      code: 'no-rollout',
    });
    const monitor = (await world.monitor('m3')).monitor;
    await monitor.state.writes.steer('default', 'web', 'promote');
    await monitor.state.writes.steer('default', 'web', 'pause');
    expect((await call('POST', `${PATH}/scale`, { count: 5 })).body).toMatchObject({ version: 3 });
    expect(await job()).toMatchObject({ rollout: { paused: true, promoted: true } });
    expect((await job())?.job.groups['web']?.count).toBe(5);
    await monitor.state.writes.steer('default', 'web', 'resume');
    expect((await job())?.rollout).toEqual({ promoted: true, atMs: world.clock.nowMs() });
    // The file knows of no restart: it asks for none again, and none is taken back.
    await submit({ count: 2 });
    expect((await job())?.rollout).toBeUndefined();
    expect((await job())?.job.restartedAtMs).toBeDefined();
    expect((await call('POST', `${PATH}/scale`, { group: 'x', count: 1 })).body).toMatchObject({
      detail: 'web has no group "x"; its groups: web',
    });
    expect((await call('POST', `${PATH}/scale`, { count: 0 })).status).toBe(400);
  });

  it('status tells of the update: what its owner recorded, whether it is paused, how many are left', async () => {
    const { record, call } = await started();
    await record({ version: 1, state: 'failed', reason: 'web: broken' });
    const { rollout } = (await call('GET', PATH)).body as JobStatus;
    expect(rollout).toMatchObject({
      record: { state: 'failed', reason: 'web: broken' },
      paused: false,
      outdated: 0,
    });
  });
});
