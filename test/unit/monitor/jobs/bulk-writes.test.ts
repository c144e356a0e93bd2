import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BulkWrites } from '../../../../monitor/jobs/bulk-writes.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { ListedJob } from '../../../../src/wire/job-file/listed-job.ts';
import type { BulkAnswer } from '../../../../src/wire/api/monitor-api.ts';
import { BULK_JOBS_MAX } from '../../../../src/wire/api/monitor-api.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';
import { FaultyStore } from '../../../support/faulty-store.ts';
import { jobOf, MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const fileOf = (name: string) => ({ name, type: 'batch', command: ['work'] });
const names = (count: number) => Array.from({ length: count }, (_, n) => `job-${String(n)}`);

describe('many jobs in one call', () => {
  const bulk = async (address: string, files: readonly unknown[]) => {
    const answer = await world.call('POST', `${address}/v1/jobs/bulk`, files);
    return { status: answer.status, results: (answer.body as BulkAnswer).results };
  };

  it('S0.4 makes each of them, in few transactions', async () => {
    const { address } = await world.monitor();
    const before = world.cell.revision;
    const { status, results } = await bulk(address, names(300).map(fileOf));
    expect(status).toBe(200);
    expect(results.map((one) => ('name' in one ? one.name : one.problem.detail))).toEqual(names(300));
    expect(world.cell.revision - before).toBe(1 + Math.ceil(300 / 128));
    const last = await world.read(world.keys.job('default', 'job-299'), jobCodec);
    expect(last).toMatchObject({ version: 1, job: { name: 'job-299' } });
  });

  it('answers for each as if it had come by itself', async () => {
    const { address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, fileOf('same'));
    await world.call('POST', `${address}/v1/jobs`, { ...fileOf('typed'), type: 'service' });
    await world.call('POST', `${address}/v1/jobs`, { ...fileOf('changed'), count: 2 });
    const files = [
      ...[fileOf('new'), fileOf('same'), { ...fileOf('bad'), count: 0 }, fileOf('typed')],
      ...[fileOf('changed'), fileOf('new')],
    ];
    expect((await bulk(address, files)).results).toMatchObject([
      { name: 'new', version: 1, changed: true },
      { name: 'same', version: 1, changed: false },
      { problem: { status: 400, code: 'bad-job', path: 'count' } },
      { problem: { status: 409, code: 'type-immutable' } },
      { name: 'changed', version: 2, changed: true },
      { problem: { status: 409, code: 'named-twice' } },
    ]);
  });

  it('refuses what is no list, an empty one and one that is too long', async () => {
    const { address } = await world.monitor();
    for (const body of [fileOf('web'), [], names(BULK_JOBS_MAX + 1).map(fileOf)])
      expect(await world.call('POST', `${address}/v1/jobs/bulk`, body)).toMatchObject({ status: 400 });
  });

  it.each(['reply-lost', 'request-lost'] as const)('knows what became of them after a %s', async (fault) => {
    const faulty = new FaultyStore(world.store, seededRandom(1));
    let left = 2;
    faulty.next = () => (left-- > 0 ? fault : null);
    const { keys, clock } = world;
    const one: string[] = [];
    const writes = new BulkWrites({
      ...{ store: faulty.store, keys, clock },
      submit: async ({ namespace, name }) => {
        one.push(name);
        return { answer: { namespace, name, version: 1, changed: true }, revision: 1 };
      },
    });
    const results = await writes.submit(
      names(130).map((name) => new ListedJob(jobOf({ name }))),
      undefined,
    );
    expect(results.every((result) => 'answer' in result)).toBe(true);
    // What is not there goes the way of a single submission.
    expect(one.length).toBe(fault === 'reply-lost' ? 0 : 130);
  });
});
