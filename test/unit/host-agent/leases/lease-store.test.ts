import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeaseStore } from '../../../../host-agent/leases/lease-store.ts';
import { Leases } from '../../../../host-agent/leases/leases.ts';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import { someStart, someStop, someTask } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';

const running = (report: { state: string }): boolean => report.state === 'running';

function withPort(port: number, runMs = 0) {
  return someStart({
    allocation: { ports: { http: port } },
    tasks: [someTask({ env: { HOLLOW_RUN_MS: String(runMs) } })],
  });
}

describe('leases of ports', () => {
  it('I45 S1.38 a tiny pool under churn never has two holders, whatever is taken and freed in what order', async () => {
    const steps = fc.array(
      fc.record({
        id: fc.constantFrom('a', 'b', 'c', 'd'),
        free: fc.boolean(),
        ports: fc.uniqueArray(fc.integer({ min: 20_000, max: 20_003 }), { maxLength: 3 }),
      }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const leases = new LeaseStore(new HostWorld().ports, 'port', 10_000);
        const model = new Map<string, string>();
        for (const { id, free, ports } of taken) {
          const names = ports.map(String);
          if (free) {
            await leases.free(id, names, 'job');
            for (const port of names) if (model.get(port) === id) model.delete(port);
            continue;
          }
          const foreign = names.find((port) => model.has(port) && model.get(port) !== id);
          const refused = await leases.take(id, names);
          expect(refused === null).toBe(foreign === undefined);
          if (refused === null) for (const port of names) model.set(port, id);
          else if (refused !== null)
            // All or none: what it had of them before it asked for more is given back with them.
            for (const port of names.slice(0, names.indexOf(refused.name)))
              if (model.get(port) === id) model.delete(port);
        }
        expect(await leases.all()).toEqual(model);
      }),
    );
  });

  it('I31 I45 the port of a task whose record was lost is given to nobody else', async () => {
    const world = new HostWorld();
    await world.open();
    const order = withPort(20_001);
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, running);
    await world.loseAgent();
    await world.disk.replace(`allocations/${id}/spec.json`, 'garbage');
    await world.open();
    await expect(world.agent.start(withPort(20_001))).rejects.toMatchObject({
      problem: { code: 'port-taken', detail: `port 20001 of this host still belongs to ${id}` },
    });
  });

  it('S1.15 I45 a port is free again when it is confirmed free, and not when its task has ended', async () => {
    const world = new HostWorld();
    await world.open();
    const order = withPort(20_001);
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, running);
    // Somebody of ours still holds it open.
    world.processes.takePort(20_001);
    await world.agent.stop(id, someStop());
    await world.until(id, (report) => report.state === 'killed');
    await world.clock.advance(3_000);
    expect(world.agent.report(id).released).toBe(false);
    await expect(world.agent.start(withPort(20_001))).rejects.toMatchObject({
      problem: { code: 'port-taken' },
    });
    world.processes.freePort(20_001);
    await world.until(id, (report) => report.released);
    await world.agent.start(withPort(20_001));
  });
});

const POOL = ['127.64.0.1', '127.64.0.2', '127.64.0.3'];
const REST_MS = 10_000;

function wanting(id: string, job: string, addresses: number): Allocation {
  const resources = { cpuMilli: 1, memoryMib: 1, diskMib: 0, scalars: addresses === 0 ? {} : { addresses } };
  return someStart({ allocation: { id, job, resources } }).allocation;
}

function lentOn(world: HostWorld, restMs = REST_MS): Leases {
  const portRange = () => ({ first: 20_000, last: 20_003 });
  return new Leases(world.ports, { addresses: POOL, restMs, users: null, ids: null, portRange });
}

describe('addresses of a host', () => {
  it('S0.33 S1.2 S1.3 I45 a pool of three under churn never has two holders, and lends what was freed first, over any agent kills', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({
          kind: fc.constant('lend' as const),
          id: fc.constantFrom('a', 'b', 'c', 'd'),
          count: fc.integer({ min: 1, max: 2 }),
        }),
        fc.record({ kind: fc.constant('free' as const), id: fc.constantFrom('a', 'b', 'c', 'd') }),
        fc.record({ kind: fc.constant('kill' as const) }),
        fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2 * REST_MS }) }),
      ),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const world = new HostWorld();
        let lent = lentOn(world);
        const holders = new Map<string, readonly string[]>();
        /** Never used ones first, in the pool's order. */
        let order = [...POOL];
        for (const step of all) {
          await world.clock.advance(1);
          if (step.kind === 'wait') await world.clock.advance(step.ms);
          if (step.kind === 'kill') {
            lent = lentOn(world);
            await lent.open();
          }
          if (step.kind === 'free') {
            const had = holders.get(step.id) ?? [];
            await lent.release(wanting(step.id, step.id, 0), { addresses: had });
            holders.delete(step.id);
            order = [...order, ...had];
          }
          if (step.kind !== 'lend' || holders.has(step.id)) continue;
          const got = await lent.lease(wanting(step.id, step.id, step.count));
          if ('why' in got) {
            expect(order.length).toBeLessThan(step.count);
            continue;
          }
          const had = order.slice(0, step.count);
          expect(got).toEqual({ addresses: had });
          order = order.slice(step.count);
          holders.set(step.id, had);
        }
        const held = [...holders].flatMap(([id, had]) => had.map((address) => [address, id] as const));
        expect(await lent.addresses.all()).toEqual(new Map(held));
      }),
    );
  });

  it('S1.5 without any rest, what is still held is lent to nobody else, over any agent kills', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const steps = fc.array(
      fc.record({ kind: fc.constantFrom('lend', 'free', 'kill'), id: fc.constantFrom(...names) }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const world = new HostWorld();
        let lent = lentOn(world, 0);
        const holders = new Map<string, readonly string[]>();
        for (const { kind, id } of all) {
          if (kind === 'kill') {
            lent = lentOn(world, 0);
            await lent.open();
          } else if (kind === 'free') {
            await lent.release(wanting(id, id, 0), { addresses: holders.get(id) ?? [] });
            holders.delete(id);
          } else if (!holders.has(id)) {
            const got = await lent.lease(wanting(id, id, 1));
            if ('why' in got) expect(holders.size).toBe(POOL.length);
            else holders.set(id, got.addresses ?? []);
          }
          const held = [...holders.values()].flat();
          expect(new Set(held).size).toBe(held.length);
        }
      }),
    );
  });

  it('S1.4 S1.33 a used-up pool refuses, and what must be used again too early is said', async () => {
    const counts: string[] = [];
    const world = new HostWorld();
    const { ports } = world;
    const metrics = { ...ports.metrics, count: (name: string) => void counts.push(name) };
    const lent = new Leases(
      { ...ports, metrics },
      {
        addresses: ['127.64.0.1'],
        restMs: REST_MS,
        users: null,
        ids: null,
        portRange: () => ({ first: 1, last: 2 }),
      },
    );
    expect(await lent.lease(wanting('a', 'web', 1))).toEqual({ addresses: ['127.64.0.1'] });
    expect(await lent.lease(wanting('b', 'other', 1))).toEqual({
      what: 'address',
      why: 'addresses: 1 needed, 0 available',
    });
    await lent.release(wanting('a', 'web', 1), { addresses: ['127.64.0.1'] });
    expect(await lent.lease(wanting('c', 'web', 1))).toEqual({ addresses: ['127.64.0.1'] });
    expect(counts).toEqual([]);
    await lent.release(wanting('c', 'web', 1), { addresses: ['127.64.0.1'] });
    expect(await lent.lease(wanting('d', 'other', 1))).toEqual({ addresses: ['127.64.0.1'] });
    expect(counts).toEqual(['moorage_host_leases_early_total']);
  });

  it('S1.15 a task is told its address, which is its own until it is released, also by the next agent', async () => {
    const world = new HostWorld();
    const settings = { addresses: POOL };
    await world.open(undefined, settings, { addresses: 3 });
    const order = (id: string) =>
      someStart({
        allocation: { id, resources: { cpuMilli: 1, memoryMib: 1, diskMib: 0, scalars: { addresses: 2 } } },
        tasks: [someTask({ env: { HOLLOW_RUN_MS: '100000' } })],
      });
    await world.agent.start(order('a1'));
    const report = await world.until('a1', running);
    expect(report.addresses).toEqual(['127.64.0.1', '127.64.0.2']);
    const launch = await world.disk.read('attempts/a1.main.1/launch');
    expect(launch).toContain('MOORAGE_ADDRESS=127.64.0.1');
    expect(launch).toContain('MOORAGE_ADDRESSES=127.64.0.1,127.64.0.2');
    await world.loseAgent();
    await world.disk.remove('leases');
    await world.open(undefined, settings, { addresses: 3 });
    expect(await world.disk.list('leases/address')).toEqual(['127.64.0.1', '127.64.0.2']);
    await expect(world.agent.start(order('a2'))).rejects.toMatchObject({
      problem: { code: 'no-fit', detail: 'scalar:addresses: 2 needed, 1 available' },
    });
    await world.agent.stop('a1', someStop());
    await world.until('a1', (one) => one.released);
    await world.agent.start(order('a3'));
    expect((await world.until('a3', running)).addresses).toEqual(['127.64.0.3', '127.64.0.1']);
  });
});

describe('a stranger on an address of the pool', () => {
  const claiming = (count: number, runMs = 20) =>
    someStart({
      allocation: {
        resources: { cpuMilli: 1, memoryMib: 1, diskMib: 0, scalars: { addresses: count } },
      },
      tasks: [someTask({ env: { HOLLOW_RUN_MS: String(runMs) } })],
    });
  const openWith = async (): Promise<HostWorld> => {
    const world = new HostWorld();
    await world.open(undefined, { addresses: POOL }, { addresses: 3 });
    return world;
  };

  it('S1.38 I45 is passed over, and where nothing else is left the start is refused, until it goes', async () => {
    const world = await openWith();
    world.processes.takeAddress('127.64.0.1');
    const first = claiming(1, 100_000);
    const { id } = first.allocation;
    await world.agent.start(first);
    expect((await world.until(id, running)).addresses).toEqual(['127.64.0.2']);
    await expect(world.agent.start(claiming(2))).rejects.toMatchObject({
      problem: {
        code: 'no-fit',
        detail: 'addresses: 2 needed, 1 available; in use on this host by others: 127.64.0.1',
      },
    });
    // Nothing of the refused one stays.
    expect(await world.disk.list('leases/address')).toEqual(['127.64.0.2']);
    world.processes.freeAddress('127.64.0.1');
    const second = claiming(2);
    await world.agent.start(second);
    expect(world.agent.report(second.allocation.id).addresses).toEqual(['127.64.0.1', '127.64.0.3']);
  });

  it('S1.33 is counted', async () => {
    const counts: string[] = [];
    const world = new HostWorld();
    const { ports } = world;
    const metrics = { ...ports.metrics, count: (name: string) => void counts.push(name) };
    const settings = {
      addresses: POOL,
      restMs: REST_MS,
      users: null,
      ids: null,
      portRange: () => ({ first: 1, last: 2 }),
    };
    const lent = new Leases({ ...ports, metrics }, settings);
    await lent.lease(wanting('a', 'web', 1));
    expect(counts).toEqual([]);
    world.processes.takeAddress('127.64.0.2');
    expect(await lent.lease(wanting('b', 'web', 1))).toEqual({ addresses: ['127.64.0.3'] });
    expect(counts).toEqual(['moorage_host_strangers_total']);
  });

  it('S1.15 I45 an address is free again when nobody has a socket on it, and not when its task has ended', async () => {
    const world = await openWith();
    const order = claiming(1);
    const { id } = order.allocation;
    await world.agent.start(order);
    // Somebody of its own, that it left behind.
    world.processes.takeAddress('127.64.0.1');
    await world.until(id, (report) => report.state === 'complete');
    await world.clock.advance(3_000);
    expect(world.agent.report(id).released).toBe(false);
    expect(await world.disk.list('leases/address')).toEqual(['127.64.0.1']);
    world.processes.freeAddress('127.64.0.1');
    await world.until(id, (report) => report.released);
    expect(await world.disk.list('leases/address')).toEqual([]);
  });

  it('S3.57 a lease of nobody is not given back while somebody has a socket on its address', async () => {
    const world = await openWith();
    await world.disk.publish('leases/address/127.64.0.1', 'gone');
    world.processes.takeAddress('127.64.0.1');
    for (let look = 0; look < 3; look++) await world.agent.lookForLeaks();
    expect(await world.disk.list('leases/address')).toEqual(['127.64.0.1']);
    world.processes.freeAddress('127.64.0.1');
    await world.agent.lookForLeaks();
    expect(await world.disk.list('leases/address')).toEqual([]);
  });
});

describe('a port that was freed just now', () => {
  const order = (job: string, port: number) =>
    someStart({
      allocation: { job, ports: { http: port } },
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '20' } })],
    });

  it('S1.3 S1.38 rests: only the job that had it gets it at once, and any job after a while, also of the next agent', async () => {
    const world = new HostWorld();
    await world.open();
    const first = order('web', 20_001);
    await world.agent.start(first);
    await world.until(first.allocation.id, (report) => report.released);
    await expect(world.agent.start(order('other', 20_001))).rejects.toMatchObject({
      problem: { code: 'port-taken', detail: 'port 20001 was freed just now, and is to rest for 10 s more' },
    });
    const again = order('web', 20_001);
    await world.agent.start(again);
    await world.until(again.allocation.id, (report) => report.released);
    await world.loseAgent();
    await world.open();
    await expect(world.agent.start(order('other', 20_001))).rejects.toMatchObject({
      problem: { code: 'port-taken' },
    });
    await world.clock.advance(10_000);
    await world.agent.start(order('other', 20_001));
  });

  it('S1.33 is given all the same where the host has no other, and that is said', async () => {
    const world = new HostWorld();
    const lent = lentOn(world);
    const having = (id: string, port: number): Allocation =>
      someStart({ allocation: { id, job: id, ports: { http: port } } }).allocation;
    for (const [n, id] of ['a', 'b', 'c'].entries()) await lent.lease(having(id, 20_000 + n));
    await lent.release(having('a', 20_000), {});
    expect(await lent.lease(having('d', 20_000))).toMatchObject({ what: 'port' });
    await lent.lease(having('e', 20_003));
    expect(await lent.lease(having('d', 20_000))).toEqual({});
  });
});

describe('what was left behind', () => {
  it('S3.12 S3.57 is taken away when it was seen twice, and what is in use stays', async () => {
    const world = new HostWorld();
    await world.open();
    const order = withPort(20_001);
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, running);
    await world.disk.publish('attempts/gone.main.1/launch', 'x');
    await world.disk.publish('leases/port/20002', 'gone');
    await world.disk.publish('.tmp-1-1', 'half');
    await world.agent.lookForLeaks();
    expect(await world.disk.list('attempts')).toContain('gone.main.1');
    await world.agent.lookForLeaks();
    expect(await world.disk.list('attempts')).toEqual([`${id}.main.1`]);
    expect(await world.disk.list('leases/port')).toEqual(['20001']);
    expect(await world.disk.read('.tmp-1-1')).toBeNull();
    expect(world.agent.report(id).state).toBe('running');
    expect(world.agent.host.attributes['leaking']).toBeUndefined();
  });

  it('S3.12 closes the host for newcomers while too much of it does not go away, and opens it by itself', async () => {
    const world = new HostWorld();
    await world.open();
    const ports = Array.from({ length: 9 }, (_, n) => 20_010 + n);
    for (const port of ports) {
      await world.disk.publish(`leases/port/${String(port)}`, 'gone');
      world.processes.takePort(port);
    }
    await world.agent.lookForLeaks();
    await world.agent.start(withPort(20_001));
    expect(await world.agent.lookForLeaks()).toBe(true);
    expect(world.agent.host.attributes['leaking']).toBe('9');
    await expect(world.agent.start(someStart())).rejects.toMatchObject({ problem: { code: 'leaking' } });
    for (const port of ports) world.processes.freePort(port);
    expect(await world.agent.lookForLeaks()).toBe(true);
    expect(world.agent.host.attributes['leaking']).toBeUndefined();
    await world.agent.start(someStart());
  });
});
