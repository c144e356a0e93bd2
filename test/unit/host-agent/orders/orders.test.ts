import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DiskError } from '../../../../src/ports/disk.ts';
import type { StartRequest } from '../../../../src/wire/api/host-api.ts';
import { FINAL_REFUSALS } from '../../../../src/wire/api/host-api.ts';
import type { Problem } from '../../../../src/wire/api/problem.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { CELL_INCARNATION, someStart, someStop } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';

async function host(): Promise<HostWorld> {
  const world = new HostWorld();
  await world.open();
  return world;
}

/** Why the host does not start it; null when it does. */
async function refusalOf(world: HostWorld, order: StartRequest): Promise<Problem | null> {
  try {
    await world.agent.start(order);
    return null;
  } catch (error) {
    if (error instanceof ProblemError) return error.problem;
    throw error;
  }
}

function sized(cpuMilli: number): StartRequest {
  return someStart({ allocation: { resources: { cpuMilli, memoryMib: 1, diskMib: 0, scalars: {} } } });
}

async function release(world: HostWorld, { allocation: { id } }: StartRequest): Promise<void> {
  await world.agent.stop(id, someStop());
  await world.until(id, (report) => report.released);
}

/** What keeps a start from being done, and what takes that away again. */
const HINDRANCES: Readonly<
  Record<string, (world: HostWorld, order: StartRequest) => Promise<() => Promise<void>>>
> = {
  'no-fit': async (world) => {
    const large = sized(950);
    await world.agent.start(large);
    return () => release(world, large);
  },
  'port-taken': async (world, { allocation }) => {
    const [port = 0] = Object.values(allocation.ports);
    world.processes.takePort(port);
    return async () => world.processes.freePort(port);
  },
  'disk-full': async (world) => {
    world.disk.setFreeBytes(1024);
    return async () => world.disk.setFreeBytes(2 ** 40);
  },
  'epoch-old': async (world) => {
    await world.agent.start(
      someStart({ allocation: { epoch: { incarnation: CELL_INCARNATION, counter: 5 } } }),
    );
    return async () => undefined;
  },
};

describe('a start that was refused', () => {
  for (const [code, hinder] of Object.entries(HINDRANCES))
    it(`I45 I34 ${code}: a copy of it that comes later, or to the next agent, gets the same answer`, async () => {
      const world = await host();
      const order = someStart({ allocation: { ports: { http: 20_001 } } });
      const unhinder = await hinder(world, order);
      const first = await refusalOf(world, order);
      expect(first?.code).toBe(code);
      await unhinder();
      expect(await refusalOf(world, order)).toEqual(first);
      await world.loseAgent();
      await world.open();
      expect(await refusalOf(world, order)).toEqual(first);
      const { epoch } = someStart({
        allocation: { epoch: { incarnation: CELL_INCARNATION, counter: 9 } },
      }).allocation;
      expect(
        await refusalOf(world, someStart({ allocation: { ports: { http: 20_001 }, epoch } })),
      ).toBeNull();
      expect(FINAL_REFUSALS.has(code)).toBe(true);
    });

  it('I34 what it was short of is said each time, also by the next agent', async () => {
    const world = await host();
    const unhinder = await HINDRANCES['no-fit']?.(world, sized(950));
    const order = sized(200);
    const short = { dimension: 'cpu', needed: 200, available: 50 };
    expect((await refusalOf(world, order))?.extra).toMatchObject({ short });
    await unhinder?.();
    await world.loseAgent();
    await world.open();
    expect((await refusalOf(world, order))?.extra).toMatchObject({ short });
  });

  it('I45 on a disk that takes no line it is known as well, and by the next agent once another line was taken', async () => {
    const world = await host();
    world.disk.failWrites(new DiskError('io', 'broken'));
    const order = someStart();
    expect((await refusalOf(world, order))?.code).toBe('disk-full');
    world.disk.failWrites(null);
    expect((await refusalOf(world, order))?.code).toBe('disk-full');
    await world.agent.recordTime();
    await world.loseAgent();
    await world.open();
    expect((await refusalOf(world, order))?.code).toBe('disk-full');
    expect(await refusalOf(world, someStart())).toBeNull();
  });

  it('is stopped, and no other word, once it was ordered to stop', async () => {
    const world = await host();
    const large = sized(950);
    await world.agent.start(large);
    const order = sized(100);
    expect((await refusalOf(world, order))?.code).toBe('no-fit');
    await expect(world.agent.stop(order.allocation.id, someStop())).rejects.toThrow(/no allocation/);
    expect((await refusalOf(world, order))?.code).toBe('stopped');
  });

  it('I45 whatever is started, refused, released, sent again and lost in between: who was refused never runs', async () => {
    const act = fc.record({
      what: fc.constantFrom('start', 'repeat', 'release', 'lose-agent'),
      which: fc.nat({ max: 9 }),
      cpuMilli: fc.constantFrom(100, 300, 600),
    });
    const check = async (
      acts: readonly { what: string; which: number; cpuMilli: number }[],
    ): Promise<void> => {
      const world = await host();
      const orders: StartRequest[] = [];
      const refused = new Map<string, Problem>();
      for (const { what, which, cpuMilli } of acts) {
        if (what === 'lose-agent') {
          await world.loseAgent();
          await world.open();
          continue;
        }
        const order = what === 'start' ? sized(cpuMilli) : orders[which % Math.max(1, orders.length)];
        if (order === undefined) continue;
        const { id } = order.allocation;
        const before = refused.get(id);
        if (what === 'release') {
          if (world.agent.run(id)?.isReleased === false) await release(world, order);
          continue;
        }
        if (what === 'start') orders.push(order);
        const problem = await refusalOf(world, order);
        if (before !== undefined) expect(problem).toMatchObject({ code: before.code, detail: before.detail });
        if (problem !== null) refused.set(id, problem);
      }
      for (const id of refused.keys()) expect(world.agent.run(id)).toBeUndefined();
      await world.loseAgent();
    };
    await fc.assert(fc.asyncProperty(fc.array(act, { maxLength: 30 }), check), { numRuns: 100 });
  });
});

describe('a start of what runs without a record', () => {
  async function orphan(): Promise<{ world: HostWorld; order: StartRequest }> {
    const world = await host();
    const order = someStart({ allocation: { ports: { http: 20_001 } } });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.state === 'running');
    await world.loseAgent();
    await world.disk.replace(`allocations/${id}/spec.json`, 'garbage');
    world.processes.takePort(20_001);
    await world.open();
    expect(world.agent.orphans).toEqual([id]);
    return { world, order };
  }

  it('I31 takes it over with the port that it has', async () => {
    const { world, order } = await orphan();
    expect(await refusalOf(world, order)).toBeNull();
    expect(world.agent.orphans).toEqual([]);
    expect(world.processes.running).toEqual([`${order.allocation.id}.main.1`]);
  });

  it('I45 ends it when it is refused for good: its claim is given back', async () => {
    const { world, order } = await orphan();
    world.disk.setFreeBytes(1024);
    expect((await refusalOf(world, order))?.code).toBe('disk-full');
    expect(world.processes.running).toEqual([]);
    expect(world.agent.orphans).toEqual([]);
  });

  it('I16 I17 an order of an old epoch ends nothing of it, nor does the search for leaks; a new one to stop does', async () => {
    const { world, order } = await orphan();
    const { id } = order.allocation;
    const epoch = { incarnation: CELL_INCARNATION, counter: 5 };
    await world.agent.start(someStart({ allocation: { epoch } }));
    expect((await refusalOf(world, order))?.code).toBe('epoch-old');
    for (let looks = 0; looks < 3; looks++) await world.agent.lookForLeaks();
    expect(world.processes.running).toContain(`${id}.main.1`);
    expect(world.agent.orphans).toEqual([id]);
    await expect(world.agent.stop(id, { ...someStop(), epoch })).rejects.toThrow(/no allocation/);
    expect(world.processes.running).not.toContain(`${id}.main.1`);
  });

  it('I32 I45 is refused, and all of it ended, where the disk removes nothing; the files go later', async () => {
    const { world, order } = await orphan();
    const { id } = order.allocation;
    const remove = world.disk.remove.bind(world.disk);
    world.disk.remove = () => Promise.reject(new DiskError('io', 'read-only'));
    world.disk.setFreeBytes(1024);
    for (let copies = 0; copies < 2; copies++)
      expect((await refusalOf(world, order))?.code).toBe('disk-full');
    expect(world.processes.running).toEqual([]);
    world.disk.remove = remove;
    for (let looks = 0; looks < 2; looks++) await world.agent.lookForLeaks();
    expect(await world.disk.list('attempts')).toEqual([]);
    expect(world.agent.orphans).toEqual([]);
    expect(await world.disk.list(`allocations/${id}`)).toEqual([]);
  });

  it('I45 gets no final refusal and no 404 while something of it cannot be killed', async () => {
    const { world, order } = await orphan();
    const { id } = order.allocation;
    const killTree = world.processes.killTree.bind(world.processes);
    world.processes.killTree = () => Promise.resolve(true);
    world.disk.setFreeBytes(1024);
    const patient = async <T>(answer: Promise<T>): Promise<T> => {
      for (let step = 0; step < 60; step++) await world.clock.advance(50);
      return answer;
    };
    const refused = await patient(refusalOf(world, order));
    expect(refused).toMatchObject({ status: 503, code: 'still-running' });
    expect(FINAL_REFUSALS.has(refused?.code ?? '')).toBe(false);
    const stopped = world.agent.stop(id, someStop()).catch((error: unknown) => error);
    expect(await patient(stopped)).toMatchObject({ problem: { code: 'still-running' } });
    world.processes.killTree = killTree;
    expect((await refusalOf(world, order))?.code).toBe('stopped');
    expect(world.processes.running).toEqual([]);
  });
});

describe('a host whose disk failed for long', () => {
  it('I32 I45 takes a start once it is healed, and still knows all that it refused, as does the next agent', async () => {
    const world = await host();
    world.disk.failWrites(new DiskError('io', 'broken'));
    const orders = Array.from({ length: 5_005 }, () => someStart());
    const answers = await Promise.all(orders.map((order) => refusalOf(world, order)));
    expect(answers).not.toContain(null);
    const last = someStart();
    expect((await refusalOf(world, last))?.code).toBe('disk-full');
    world.disk.failWrites(null);
    expect(await refusalOf(world, someStart())).toBeNull();
    await world.loseAgent();
    await world.open();
    for (const [i, order] of [...orders, last].entries())
      expect((await refusalOf(world, order))?.code).toBe(answers[i]?.code ?? 'disk-full');
  }, 60_000);
});
