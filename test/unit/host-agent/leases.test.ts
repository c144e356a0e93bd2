import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PortLeases } from '../../../host-agent/leases.ts';
import { someStart, someStop, someTask } from '../../support/host-orders.ts';
import { HostWorld } from '../../support/host-world.ts';

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
        const leases = new PortLeases(new HostWorld().ports);
        const model = new Map<number, string>();
        for (const { id, free, ports } of taken) {
          if (free) {
            await leases.free(id, ports);
            for (const port of ports) if (model.get(port) === id) model.delete(port);
            continue;
          }
          const foreign = ports.find((port) => model.has(port) && model.get(port) !== id);
          const refused = await leases.take(id, ports);
          expect(refused === null).toBe(foreign === undefined);
          if (refused === null) for (const port of ports) model.set(port, id);
          else if (refused !== null)
            // All or none: what it had of them before it asked for more is given back with them.
            for (const port of ports.slice(0, ports.indexOf(refused.port)))
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
