import { describe, expect, it } from 'vitest';
import { DiskError } from '../../../../src/ports/disk.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { someStart, someStop, someTask } from '../../../support/host-orders.ts';

const SMALL = { cpuMilli: 1, memoryMib: 1, diskMib: 0, scalars: {} };
/** Its record, its verdict, its end; of its attempt the order, claim, start and end; signals; and room for one more look. */
const READS_PER_TASK_MAX = 16;

const running = (report: { state: string }): boolean => report.state === 'running';

async function host(): Promise<HostWorld> {
  const world = new HostWorld();
  await world.open();
  return world;
}

describe('the next agent', () => {
  it('I27 takes over what runs and finds what ended meanwhile', async () => {
    const world = await host();
    const [long, short] = [someStart(), someStart({ tasks: [someTask({ env: { HOLLOW_RUN_MS: '500' } })] })];
    for (const order of [long, short]) {
      await world.agent.start(order);
      await world.until(order.allocation.id, running);
    }
    await world.loseAgent();
    await world.clock.advance(1_000);
    await world.open();
    expect(world.agent.report(long.allocation.id).state).toBe('running');
    expect(world.agent.report(short.allocation.id)).toMatchObject({ state: 'complete', exit: { code: 0 } });
    expect(world.processes.running).toEqual([`${long.allocation.id}.main.1`]);
  });

  it('S0.19 goes on with restarts, counting those of before', async () => {
    const world = await host();
    const order = someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '100', HOLLOW_EXIT_CODE: '1' } })],
      restart: { attempts: 4, windowMs: 3_600_000, delayMs: 50, on: 'failure' },
    });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.restarts === 2);
    await world.loseAgent();
    await world.open();
    const ended = await world.until(id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'failed', restarts: 4 });
  });

  it('S2.23 looks at a number of files that grows with the tasks it takes over, and no faster', async () => {
    const readsFor = async (count: number): Promise<number> => {
      const world = await host();
      const orders = Array.from({ length: count }, () => someStart({ allocation: { resources: SMALL } }));
      for (const order of orders) await world.agent.start(order);
      for (const { allocation } of orders) await world.until(allocation.id, running);
      await world.loseAgent();
      const read = world.disk.read.bind(world.disk);
      let reads = 0;
      world.disk.read = (path) => {
        reads += 1;
        return read(path);
      };
      await world.open();
      expect(orders.every(({ allocation: { id } }) => world.agent.report(id).state === 'running')).toBe(true);
      return reads;
    };
    const [few, many] = [await readsFor(10), await readsFor(100)];
    expect(few).toBeLessThanOrEqual(10 * READS_PER_TASK_MAX);
    expect(many - few).toBeLessThanOrEqual(90 * READS_PER_TASK_MAX);
  });

  it('S1.28 S1.29 goes on with a removal that the disk held up, or that its agent did not live to end', async () => {
    const world = await host();
    const order = someStart({ tasks: [someTask({ env: { HOLLOW_RUN_MS: '100' } })] });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.released);
    const remove = world.disk.remove.bind(world.disk);
    world.disk.remove = (path) =>
      path.startsWith('attempts') ? Promise.reject(new DiskError('io', 'no')) : remove(path);
    await expect(world.agent.remove(id)).rejects.toThrow('no');
    expect(world.agent.report(id).released).toBe(true);
    await world.loseAgent();
    world.disk.remove = remove;
    await world.open();
    for (let looks = 0; looks < 2; looks++) await world.agent.lookForLeaks();
    expect([await world.disk.list('attempts'), await world.disk.list('allocations')]).toEqual([[], []]);
    expect(world.agent.orphans).toEqual([]);
    await world.agent.remove(id);
  });

  it('goes on with a stop that was under way', async () => {
    const world = await host();
    const order = someStart({
      tasks: [
        someTask({ env: { HOLLOW_IGNORES_SIGNALS: '1' }, stop: { signal: 'SIGTERM', graceMs: 1_000 } }),
      ],
    });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, running);
    await world.agent.stop(id, someStop({ cause: 'enough' }));
    await world.loseAgent();
    await world.open();
    const ended = await world.until(id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'killed', reason: 'enough', exit: { signal: 'SIGKILL' } });
  });

  it.each(['after its end was recorded', 'while it was being stopped'])(
    'I13 I45 lets alone what was stopped, though its policy restarts whatever ends: lost %s',
    async (when) => {
      const world = await host();
      const order = someStart({ restart: { attempts: 9, windowMs: 3_600_000, delayMs: 0, on: 'always' } });
      const { id } = order.allocation;
      await world.agent.start(order);
      await world.until(id, running);
      if (when === 'while it was being stopped') {
        const verdict = { v: 1, why: 'user', cause: 'enough', commandId: 'c1', atMs: 0 };
        await world.loseAgent();
        await world.disk.publish(`allocations/${id}/verdict.json`, JSON.stringify(verdict));
        await world.processes.killTree(`${id}.main.1`);
      } else {
        await world.agent.stop(id, someStop());
        await world.until(id, (report) => report.released);
        await world.loseAgent();
      }
      await world.clock.advance(1_000);
      await world.open();
      const ended = await world.until(id, (report) => report.released);
      await world.clock.advance(10_000);
      expect(ended.state).toBe('killed');
      expect(await world.disk.list('attempts')).toEqual([`${id}.main.1`]);
      expect(world.processes.running).toEqual([]);
    },
  );

  it('starts what was accepted and had not begun', async () => {
    const world = await host();
    const order = someStart();
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, running);
    const spec = (await world.disk.read(`allocations/${id}/spec.json`)) ?? '';
    const fresh = new HostWorld();
    await fresh.disk.publish(`allocations/${id}/spec.json`, spec);
    await fresh.open();
    await fresh.until(id, running);
  });

  it('I33 after a reboot nothing is taken over, and all that ran is lost', async () => {
    const world = await host();
    const [ran, ended] = [someStart(), someStart({ tasks: [someTask({ env: { HOLLOW_RUN_MS: '10' } })] })];
    for (const order of [ran, ended]) await world.agent.start(order);
    await world.until(ran.allocation.id, running);
    await world.until(ended.allocation.id, (report) => report.released);
    await world.loseAgent();
    world.reboot('another-boot');
    await world.open();
    const lost = await world.until(ran.allocation.id, (report) => report.released);
    expect(lost).toMatchObject({ state: 'lost', reason: 'host-reboot', exit: { lost: 'host-reboot' } });
    expect(world.agent.report(ended.allocation.id).state).toBe('complete');
    expect(world.processes.running).toEqual([]);
    const next = someStart({
      allocation: { resources: { cpuMilli: 1_000, memoryMib: 1, diskMib: 0, scalars: {} } },
    });
    await world.agent.start(next);
    await world.until(next.allocation.id, running);
  });

  it('I31 S2.17 any one file torn at any length: the agent comes up, and what it does not concern runs on', async () => {
    const model = await host();
    const [order, other] = [someStart(), someStart()];
    for (const one of [order, other]) {
      await model.agent.start(one);
      await model.until(one.allocation.id, running);
    }
    const { id } = order.allocation;
    const attempt = `attempts/${id}.main.1`;
    const files = ['spec.json', 'launch', 'claim', 'started'].map((name) => `${attempt}/${name}`);
    const all = [...files, `allocations/${id}/spec.json`, 'journal', 'identity', 'incarnation'];
    await model.loseAgent();
    for (const file of all) {
      const whole = (await model.disk.read(file)) ?? '';
      for (const length of [0, 1, Math.floor(whole.length / 2), whole.length - 2]) {
        await model.disk.replace(file, whole.slice(0, length));
        await model.open();
        const known = model.agent.listing().allocations.map((one) => `${one.id} ${one.state}`);
        expect(known, `${file} cut to ${String(length)}`).toContain(`${other.allocation.id} running`);
        expect(model.processes.running).toContain(`${id}.main.1`);
        await model.loseAgent();
        await model.disk.replace(file, whole);
      }
    }
  });

  it('S2.19 a second agent on one state folder is refused while the first is there', async () => {
    const world = await host();
    const first = world.agent;
    await expect(world.open()).rejects.toThrow(/another agent runs on the state folder/);
    await first.close();
    await world.open();
    expect(world.agent.host.incarnation).toBeGreaterThan(first.host.incarnation);
    expect(world.agent.stateId).toBe(first.stateId);
  });

  it('S1.26 an unreadable record is an orphan that a stop ends', async () => {
    const world = await host();
    const order = someStart();
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, running);
    await world.loseAgent();
    await world.disk.replace(`allocations/${id}/spec.json`, 'garbage');
    await world.open();
    expect(world.agent.orphans).toEqual([id]);
    expect(world.processes.running).toEqual([`${id}.main.1`]);
    await expect(world.agent.stop(id, someStop())).rejects.toMatchObject({
      problem: { code: 'no-allocation' },
    });
    expect(world.processes.running).toEqual([]);
    expect(world.agent.orphans).toEqual([]);
    expect(await world.disk.list('quarantine')).toHaveLength(1);
  });
});
