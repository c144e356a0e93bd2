import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MonitorClient } from '../../../../src/clients/monitor-client.ts';
import type {
  AllocationListAnswer,
  HostListAnswer,
  JobListAnswer,
  ListPage,
} from '../../../../src/wire/api/monitor-api.ts';
import { hostCodec } from '../../../../src/wire/records/records.ts';
import { until } from '../../../support/manual-clock.ts';
import { allocationOf, hostRecord, MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
let address = '';
beforeEach(async () => {
  world = new MonitorWorld();
  const made = await world.monitor();
  address = made.address;
  const names = ['web', 'a-b', 'a', 'b10', 'b9'];
  for (const name of names)
    await world.call('POST', `${address}/v1/jobs`, { name, type: 'service', command: ['serve'], count: 12 });
  for (const host of ['h10', 'h9', 'h1', 'h100'])
    await world.write([
      {
        kind: 'put',
        key: world.keys.host(host),
        value: hostCodec.encode(hostRecord(host, `http://${host}`)),
      },
    ]);
  for (const [n, job] of names.entries())
    for (let index = 0; index < 12; index += 5)
      await world.place(
        allocationOf(index === 5 ? 'h9' : 'h10', `x${String(n)}-${String(index)}`, { job, index }),
      );
  const { copy } = made.monitor.state;
  await until(() => copy.allocations.size === 15 && copy.hosts.size === 4);
});
afterEach(() => world.close());

async function page<A extends ListPage>(path: string): Promise<A> {
  const answer = await world.call('GET', address + path);
  expect(answer.status).toBe(200);
  return answer.body as A;
}

/** All pages of a list, each of so many rows. */
async function pages<A extends ListPage>(path: string, limit: number): Promise<readonly A[]> {
  const all: A[] = [];
  for (let cursor = ''; ;) {
    const found = await page<A>(`${path}${path.includes('?') ? '&' : '?'}limit=${String(limit)}${cursor}`);
    all.push(found);
    if (found.next === undefined) return all;
    cursor = `&cursor=${found.next}`;
  }
}

async function listOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('lists in pages', () => {
  it.each([1, 2, 3, 100])('of %i rows: each row once, in one order, and no page too large', async (limit) => {
    const jobs = await pages<JobListAnswer>('/v1/jobs', limit);
    expect(jobs.flatMap((one) => one.jobs.map(({ name }) => name))).toEqual(['a', 'a-b', 'b10', 'b9', 'web']);
    const hosts = await pages<HostListAnswer>('/v1/hosts', limit);
    expect(hosts.flatMap((one) => one.hosts.map(({ host }) => host.id))).toEqual(['h1', 'h9', 'h10', 'h100']);
    const allocations = await pages<AllocationListAnswer>('/v1/allocations', limit);
    const names = allocations.flatMap((one) => one.allocations.map(({ name }) => name));
    const each = ['a', 'a-b', 'b10', 'b9', 'web'].flatMap((job) =>
      [0, 5, 10].map((n) => `${job === 'web' ? '' : `${job}.`}web[${String(n)}]`),
    );
    expect(names).toEqual(each);
    for (const one of allocations) expect(one.allocations.length).toBeLessThanOrEqual(limit);
  });

  it('allocations of one host, in pages too', async () => {
    const found = await pages<AllocationListAnswer>('/v1/allocations?host=h9', 2);
    const rows = found.flatMap((one) => one.allocations);
    expect(rows.map(({ allocation }) => [allocation.host, allocation.index])).toEqual(
      Array.from({ length: 5 }, () => ['h9', 5]),
    );
    expect((await page<AllocationListAnswer>('/v1/allocations?host=h1')).allocations).toEqual([]);
    expect((await page<AllocationListAnswer>('/v1/allocations?job=web&host=h10')).allocations).toHaveLength(
      2,
    );
  });

  it('what goes away between two pages moves nothing else out of sight', async () => {
    const first = await page<JobListAnswer>('/v1/jobs?limit=2');
    expect(first.jobs.map(({ name }) => name)).toEqual(['a', 'a-b']);
    await world.call('DELETE', `${address}/v1/jobs/default/a`);
    await world.call('POST', `${address}/v1/jobs`, { name: 'aa', command: ['serve'] });
    const rest = await page<JobListAnswer>(`/v1/jobs?limit=9&cursor=${first.next ?? ''}`);
    expect(rest.jobs.map(({ name }) => name)).toEqual(['aa', 'b10', 'b9', 'web']);
    expect(rest.next).toBeUndefined();
  });

  it('one host by its name, and none of another', async () => {
    expect((await world.call('GET', `${address}/v1/hosts/h9`)).body).toMatchObject({ host: { id: 'h9' } });
    expect(await world.call('GET', `${address}/v1/hosts/h2`)).toMatchObject({
      ...{ status: 404, body: { code: 'no-such-host' } },
    });
  });

  it.each(['limit=0', 'limit=10001', 'limit=x', 'cursor=%21', 'cursor=YQ%3D%3D'])(
    'refuses %s with the place',
    async (asked) => {
      const answer = await world.call('GET', `${address}/v1/jobs?${asked}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'bad-request', path: asked.split('=')[0] } });
    },
  );

  it('the client reads all of it, and a page when it is asked for one', async () => {
    const client = new MonitorClient(world.http, { urls: [address], from: 'a test' });
    expect((await client.jobs()).jobs.map(({ name }) => name)).toHaveLength(5);
    const some = await client.hosts({ limit: 3 });
    expect([some.hosts.length, typeof some.next]).toEqual([3, 'string']);
    expect((await client.allocations({ host: 'h9' })).allocations).toHaveLength(5);
    expect((await client.host('h1')).host.id).toBe('h1');
  });

  it('events end after the limit, and go on since the last of them', async () => {
    const client = new MonitorClient(world.http, { urls: [address], from: 'a test' });
    const all = await listOf(client.events('0', { follow: false }));
    const some = await listOf(client.events('0', { follow: false, limit: 3 }));
    expect(some).toEqual(all.slice(0, 3));
    const after = await listOf(client.events(some.at(-1)?.id ?? '', { follow: false, limit: 2 }));
    expect(after).toEqual(all.slice(3, 5));
  });
});
