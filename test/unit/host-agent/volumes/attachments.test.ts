import { beforeEach, describe, expect, it } from 'vitest';
import { Attachments } from '../../../../host-agent/volumes/attachments.ts';
import { VolumeDriver } from '../../../../host-agent/volumes/volume-driver.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import { silentLog, silentMetrics } from '../../../../src/adapters/telemetry/silent.ts';
import type { VolumeUse } from '../../../../src/core/cell/volume.ts';
import type { CommandEnd } from '../../../../src/ports/commands.ts';
import { testAllocation } from '../../../support/commit-world.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const USE: VolumeUse = {
  ...{ name: 'data', claim: 'db.db.data.0', id: 'd1', access: 'exclusive', onLoss: 'keep', driver: 'share' },
};
const holder = (id: string, use: VolumeUse = USE) => testAllocation(id, 'h1', { volumes: [use] });

let disk: MemoryDisk;
/** The verbs that were run, and how each ends: well, unless a test says otherwise. */
let ran: string[];
let ends: Record<string, Partial<CommandEnd>>;
let attachments: Attachments;
const open = (drivers: readonly string[] = ['share']): Attachments => {
  const commands = {
    run: (command: readonly string[]) => {
      const verb = command.at(-4) ?? '';
      ran.push(verb);
      const out = verb === 'attach' ? 'mounted\n/mnt/data\n' : '';
      return Promise.resolve({ code: 0, out, err: '', ...ends[verb] });
    },
  };
  const made = drivers.map(
    (name) => [name, new VolumeDriver(commands, { command: '/opt/share', options: '' }, 'h1')] as const,
  );
  const world = { disk, clock: new ManualClock(), log: silentLog, metrics: silentMetrics };
  return new Attachments({ ...world, drivers: new Map(made) });
};
beforeEach(() => {
  disk = new MemoryDisk();
  ran = [];
  ends = {};
  attachments = open();
});

describe('data that a driver brings', () => {
  it('S0.26 is made only while nobody has begun it, and attached each time', async () => {
    expect(await attachments.attach(holder('a1'), { ...USE, create: true })).toMatchObject({
      path: '/mnt/data',
    });
    expect(ran).toEqual(['create', 'attach']);
    expect(await attachments.attach(holder('a1'), USE)).toMatchObject({ path: '/mnt/data' });
    expect(ran).toEqual(['create', 'attach', 'attach']);
  });

  it('S0.26 is noted down before the driver is asked, and an agent that was killed then detaches it', async () => {
    ends = { attach: { code: null } };
    expect(await attachments.attach(holder('a1'), USE)).toMatchObject({
      why: expect.stringMatching(/60 s/) as string,
    });
    const next = open();
    expect(await next.all()).toEqual([{ name: 'd1.a1', allocation: 'a1' }]);
    ends = { detach: { code: 1, err: 'busy' } };
    expect(await next.detachAll(holder('a1'))).toBe(
      'volume db.db.data.0 cannot be detached: driver share: busy',
    );
    expect(await next.all()).toHaveLength(1);
    ends = {};
    expect(await next.detachStray('d1.a1')).toBe(true);
    expect(await next.all()).toEqual([]);
    ran.length = 0;
    expect(await next.detachAll(holder('a1'))).toBeNull();
    expect(ran).toEqual([]);
  });

  it('S0.26 is taken from another host only where that is allowed, and only after the driver refused', async () => {
    ends = { attach: { code: 3, err: 'host-a has it' } };
    expect(await attachments.attach(holder('a1'), USE)).toEqual({
      why: 'volume db.db.data.0: driver share: held by another host: host-a has it',
    });
    expect(ran).toEqual(['attach']);
    ran.length = 0;
    await attachments.attach(holder('a1'), { ...USE, force: true });
    expect(ran).toEqual(['attach', 'force-detach', 'attach']);
    ran.length = 0;
    ends = {};
    await attachments.attach(holder('a1'), { ...USE, force: true });
    expect(ran).toEqual(['attach']);
    ran.length = 0;
    ends = { attach: { code: 1, err: 'no route' } };
    await attachments.attach(holder('a1'), { ...USE, force: true });
    expect(ran).toEqual(['attach']);
  });

  it('S0.26 that allocations of one host share goes with the last of them', async () => {
    const shared: VolumeUse = { ...USE, access: 'shared' };
    await attachments.attach(holder('a1', shared), shared);
    await attachments.attach(holder('a2', shared), shared);
    ran.length = 0;
    expect(await attachments.detachAll(holder('a1', shared))).toBeNull();
    expect(ran).toEqual([]);
    expect(await attachments.detachAll(holder('a2', shared))).toBeNull();
    expect(ran).toEqual(['detach']);
  });

  it('S0.26 stays attached, and noted down, while the agent has not got its driver any more', async () => {
    await attachments.attach(holder('a1'), USE);
    const without = open([]);
    expect(await without.detachAll(holder('a1'))).toContain('has no volume driver share any more');
    expect(await without.attach(holder('a2'), USE)).toEqual({
      why: 'this host has no volume driver share any more',
    });
    expect(await without.delete('share', { namespace: 'default', claim: 'c', id: 'd1' })).toContain(
      'no volume driver',
    );
    expect(await open().detachAll(holder('a1'))).toBeNull();
  });
});
