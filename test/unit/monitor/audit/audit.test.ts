import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actOf } from '../../../../monitor/audit/acts.ts';
import type { AuditRecord } from '../../../../src/core/access/audit.ts';
import { AUDIT_AGE_MAX_MS } from '../../../../src/core/access/audit.ts';
import type { Attempt, AttemptReply } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import type { AuditAnswer } from '../../../../src/wire/access/audit-api.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

const JOB = { name: 'web', type: 'service', command: ['sleep', '1000'] };

describe('who did what', () => {
  let world: MonitorWorld;
  let address: string;
  /** What becomes of the next writes of records; null: they are done. */
  let fate: 'away' | 'unknown' | null;
  let jobsAtRecord: number[];

  beforeEach(async () => {
    world = new MonitorWorld();
    [fate, jobsAtRecord] = [null, []];
    const store = world.newStore();
    const plain = store.attempt.bind(store);
    store.attempt = async (attempt: Attempt): Promise<AttemptReply> => {
      if (!attempt.writes.some(({ key }) => key.startsWith(world.keys.audit))) return await plain(attempt);
      if (fate === 'away') throw new StoreError('unavailable', 'away', { retryable: true });
      if (fate === 'unknown') return { outcome: 'unknown', cause: new Error('lost') };
      jobsAtRecord.push((await store.list(world.keys.jobs)).entries.size);
      return await plain(attempt);
    };
    ({ address } = await world.monitor('m1', { store }));
  });
  afterEach(() => world.close());

  async function records(query = ''): Promise<readonly AuditRecord[]> {
    return ((await world.call('GET', `${address}/v1/audit${query}`)).body as AuditAnswer).records;
  }

  it('S4.13 a submission is on record, with its request, before the job is', async () => {
    const answer = await world.call('POST', `${address}/v1/jobs`, JOB, { 'x-request-id': 'mine-1' });
    expect(answer).toMatchObject({ status: 201, headers: { 'x-request-id': 'mine-1' } });
    expect(jobsAtRecord).toEqual([0]);
    expect(await records()).toMatchObject([
      ...[{ act: 'submit', namespace: 'default', target: 'web', by: 'operator', monitor: 'm1' }],
    ]);
    expect((await records())[0]).toMatchObject({ requestId: 'mine-1', atMs: world.clock.nowMs() });
    expect((await records())[0]).not.toHaveProperty('refused');
  });

  it('what was refused says so', async () => {
    await world.call('POST', `${address}/v1/jobs`, { ...JOB, name: 'Not A Name' });
    await world.call('POST', `${address}/v1/jobs/default/nobody/stop`);
    expect(await records()).toMatchObject([
      { act: 'submit', target: 'Not A Name', refused: 'bad-job' },
      { act: 'stop', target: 'nobody', refused: 'no-such-job' },
    ]);
  });

  it.each(['away', 'unknown'] as const)('without a record nothing is done: the store is %s', async (what) => {
    fate = what;
    expect((await world.call('POST', `${address}/v1/jobs`, JOB)).status).toBe(503);
    fate = null;
    expect((await world.call('GET', `${address}/v1/jobs/default/web`)).status).toBe(404);
  });

  it('entering a task needs no store', async () => {
    fate = 'away';
    const body = { commandId: 'c1', command: ['sh'] };
    expect((await world.call('POST', `${address}/v1/allocations/nothing/exec`, body)).status).toBe(404);
  });

  it('a list is one record, and its filters find it', async () => {
    await world.call('POST', `${address}/v1/jobs/bulk`, [{ ...JOB, namespace: 'a' }, JOB]);
    await world.call('PUT', `${address}/v1/quotas/b`, {
      cpuMilli: 1,
      memoryMib: null,
      gpuMilli: null,
      allocations: null,
    });
    expect(await records()).toHaveLength(2);
    expect(await records('?act=submit')).toMatchObject([{ namespace: 'a', target: 'web', detail: '2 jobs' }]);
    expect(await records('?namespace=b')).toMatchObject([
      { act: 'set-quota', detail: expect.stringContaining('"cpuMilli":1') as string },
    ]);
    expect(await records('?by=token/')).toEqual([]);
    expect(await records(`?since=${String(world.clock.nowMs() + 1)}`)).toEqual([]);
    expect(await records('?limit=1')).toMatchObject([{ act: 'set-quota' }]);
    expect((await world.call('GET', `${address}/v1/audit?limit=1001`)).status).toBe(400);
  });

  it('reads leave none; a token is named by its id, never shown', async () => {
    await world.call('GET', `${address}/v1/jobs`);
    const made = await world.call('POST', `${address}/v1/tokens`, {
      name: 'bob',
      scope: 'read',
      namespaces: null,
      ttlMs: 60_000,
    });
    const text = JSON.stringify(await records());
    expect(text).toContain('create-token');
    expect(text).not.toContain((made.body as { token: string }).token.split('.')[2]);
    expect(await records()).toHaveLength(1);
  });

  it('a record is short, whatever comes', async () => {
    const long = 'x'.repeat(10_000);
    await world.call('POST', `${address}/v1/jobs`, { name: long, namespace: long, more: long });
    await world.call('POST', `${address}/v1/jobs`, [long]);
    for (const record of await records()) expect(JSON.stringify(record).length).toBeLessThan(1_000);
    expect(await records()).toHaveLength(2);
  });

  it('forgets what is past its age, at another monitor too, and outlives its own', async () => {
    await world.call('POST', `${address}/v1/jobs`, JOB);
    const { monitor, address: other } = await world.monitor('m2');
    expect((await world.call('GET', `${other}/v1/audit`)).body).toMatchObject({
      records: [{ monitor: 'm1' }],
    });
    world.clock.step(AUDIT_AGE_MAX_MS + 1);
    await monitor.state.audit.prune();
    expect(await records()).toEqual([]);
  });

  it('a route without a word for the audit makes no server', () => {
    expect(() => actOf('POST', '/v1/new')).toThrow('nothing says how the audit names POST /v1/new');
  });
});
