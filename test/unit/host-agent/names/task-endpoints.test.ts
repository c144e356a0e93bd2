import { describe, expect, it } from 'vitest';
import { KnownNames } from '../../../../host-agent/names/names.ts';
import { TaskEndpoints } from '../../../../host-agent/names/task-endpoints.ts';
import type { SignalSender } from '../../../../host-agent/ports.ts';
import type { Task, UsedName } from '../../../../src/core/cell/job.ts';
import type { Endpoint } from '../../../../src/core/names/endpoints.ts';
import { endpoint } from '../../../support/endpoints.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { allocationOf, jobOf } from '../../../support/monitor-world.ts';

const NAME = 'http.web.shop';
const FILE = 'allocations/a1/work/shop.txt';

class World {
  readonly clock = new ManualClock();
  readonly names = new KnownNames({ clock: this.clock, keptMs: 60_000, isOver: () => false });
  readonly ports = { ...new HostWorld().ports, clock: this.clock, names: this.names };
  readonly sent: string[] = [];
  attempt: string | null = null;

  /** An agent's; the one before it may have died. */
  endpoints(wish: Partial<UsedName>): TaskEndpoints {
    const job = jobOf({ name: 'client', endpoints: [{ name: NAME, file: 'shop.txt', ...wish }] });
    const task = job.groups['client']?.tasks['client'] as Task;
    const signals: SignalSender = {
      send: async (attempt, _id, signal) => {
        this.sent.push(`${attempt} ${signal}`);
        return 0;
      },
    };
    const allocation = allocationOf('h1', 'a1');
    return new TaskEndpoints({ ports: this.ports, signals, allocation, task, attempt: () => this.attempt });
  }

  async tell(endpoints: readonly Endpoint[], name = `${NAME}.default`): Promise<void> {
    this.names.tell({ kind: 'name', name, known: true, endpoints });
    this.names.heard();
    await this.clock.advance(200);
  }

  file(): Promise<string | null> {
    return this.ports.disk.read(FILE);
  }
}

describe('endpoints for a task', () => {
  it('S4.21 a start waits for the first word of a monitor, and has the endpoints of then', async () => {
    const world = new World();
    const endpoints = world.endpoints({ env: 'SHOP' });
    let woken = 0;
    expect(endpoints.heard(() => (woken += 1))).toBe(false);
    await world.tell([endpoint(0), endpoint(1, { address: '2001:db8::1' })]);
    expect([woken, endpoints.heard(() => undefined)]).toEqual([1, true]);
    expect(await endpoints.prepare()).toEqual({ SHOP: '10.0.0.1:8000,[2001:db8::1]:8001' });
    expect(await world.file()).toBe('10.0.0.1:8000\n[2001:db8::1]:8001\n');
    endpoints.close();
  });

  it('without a word of any monitor it begins all the same, after 5 s', async () => {
    const world = new World();
    const endpoints = world.endpoints({ env: 'SHOP' });
    let woken = 0;
    expect(endpoints.heard(() => (woken += 1))).toBe(false);
    await world.clock.advance(5_000);
    expect([woken, endpoints.heard(() => undefined)]).toEqual([1, true]);
    expect(await endpoints.prepare()).toEqual({ SHOP: '' });
    expect(await world.file()).toBe('');
    endpoints.close();
    expect(world.clock.pending).toBe(0);
  });

  it('S0.30 a change replaces the file and is signalled once; the same again, and what is old, are not', async () => {
    const world = new World();
    const endpoints = world.endpoints({ onChange: 'SIGHUP' });
    endpoints.follow();
    await world.tell([endpoint(0)]);
    await endpoints.prepare();
    world.attempt = 'a1.client.1';
    await world.tell([endpoint(0)]);
    expect(world.sent).toEqual([]);
    await world.tell([endpoint(1)]);
    expect([await world.file(), world.sent]).toEqual(['10.0.0.1:8001\n', ['a1.client.1 SIGHUP']]);
    await world.clock.advance(100_000);
    await endpoints.prepare();
    expect(await world.file()).toBe('10.0.0.1:8001\n');
    endpoints.close();
    expect(world.names.wanted()).toEqual([]);
  });

  it('S4.21 the next agent goes on: it writes and signals what has changed meanwhile, and nothing else', async () => {
    const world = new World();
    const first = world.endpoints({ onChange: 'SIGHUP' });
    first.follow();
    await world.tell([endpoint(0)]);
    await first.prepare();
    first.close();
    world.attempt = 'a1.client.1';
    const second = world.endpoints({ onChange: 'SIGHUP' });
    second.follow();
    await world.tell([endpoint(0)]);
    expect(world.sent).toEqual([]);
    second.close();
    const third = world.endpoints({ onChange: 'SIGHUP' });
    third.follow();
    await world.tell([endpoint(2)]);
    expect([await world.file(), world.sent]).toEqual(['10.0.0.1:8002\n', ['a1.client.1 SIGHUP']]);
    third.close();
  });
});
