import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import type { Volume } from '../../../../src/core/cell/volume.ts';
import { poolCodec, roleCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld;
beforeEach(() => (world = new CellWorld()));
afterEach(() => world.close());

function withVolume(name: string, volume: Partial<Volume> = {}, count = 1): Job {
  const data: Volume = { access: 'exclusive', onLoss: 'keep', driver: 'share', ...volume };
  return makeJob(name, { type: 'service' }, { count, volumes: { data } }, 100);
}

const usesOf = (job: string) =>
  world
    .allocations()
    .flatMap(({ job: of, host, volumes = [] }) =>
      of === job ? volumes.map((use) => ({ host, ...use })) : [],
    );

async function whyOf(job: string) {
  const { address } = roleCodec.decode(world.cell.get(keys.role('scheduler', 'service-1'))?.value ?? '');
  return new SchedulerClient(world.network.client()).why(address, 'default', job);
}

describe('S0.26 a volume of a driver', () => {
  it('has one holder at a time, and whoever wants it waits for that one and says so', async () => {
    for (const host of ['h1', 'h2']) await world.host(host, 4_000);
    const { scheduler } = await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(withVolume('first', { claim: 'pg' }));
    await world.until(() => usesOf('first').length === 1, 'the first one has it');
    const [had] = usesOf('first');
    expect(had).toMatchObject({ claim: 'pg', driver: 'share', create: true });
    await world.submit(withVolume('second', { claim: 'pg' }));
    await world.until(() => scheduler.status().pending === 1, 'the second one waits');
    const why = await whyOf('second');
    expect(why?.summary).toContain(`volume pg has a holder on ${had?.host ?? ''}, and is not shared`);
    await world.submit(withVolume('first', { claim: 'pg' }), 1, 'stop');
    await world.until(() => usesOf('second').length === 1, 'the second one has it');
    const [has] = usesOf('second');
    expect(has).toMatchObject({ id: had?.id });
    expect(has).not.toHaveProperty('create');
    const [pool] = world.under(keys.pools);
    expect(poolCodec.decode(pool?.value ?? '')).toMatchObject({
      used: 1,
      volume: { host: has?.host, begun: true },
    });
  });

  it('S0.34 of a lost host is held until a fence answers for it, and taken by force only where the job says so', async () => {
    for (const host of ['h1', 'h2', 'h3']) await world.host(host, 4_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    const reschedule = { attempts: null, delayMs: 0, delayMaxMs: 0, onHostLost: true };
    for (const [name, more] of [
      ['keeps', {}],
      ['forces', { forceDetach: true }],
    ] as const) {
      const job = withVolume(name, more);
      const group = job.groups[name];
      if (group === undefined) throw new Error('no group');
      const groups = { [name]: { ...group, reschedule: { ...group.reschedule, ...reschedule } } };
      await world.submit({ ...job, groups });
      await world.until(() => usesOf(name).length === 1, `${name} has it`);
      const host = usesOf(name)[0]?.host ?? '';
      await world.hosts.get(host)?.close();
      await world.lose(host);
      await world.clock.advance(60_000);
      expect(usesOf(name).every((use) => use.host === host)).toBe(true);
      expect((await whyOf(name))?.summary).toContain(`moorage host remove ${host}`);
      await world.lose(host, { confirmed: 'removed' });
      await world.until(() => usesOf(name).some((use) => use.host !== host), `${name} has it elsewhere`);
      const [now] = usesOf(name).filter((use) => use.host !== host);
      expect(now?.force).toBe(name === 'forces' ? true : undefined);
    }
  });

  it('that is shared is held on several hosts at once', async () => {
    for (const host of ['h1', 'h2']) await world.host(host, 100);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(withVolume('web', { access: 'shared' }, 2));
    await world.until(() => usesOf('web').length === 2, 'both');
    expect(
      usesOf('web')
        .map(({ host }) => host)
        .sort(),
    ).toEqual(['h1', 'h2']);
    expect(new Set(usesOf('web').map(({ id }) => id)).size).toBe(1);
  });
});

describe('S0.24 data on a host', () => {
  it('brings back as many of its slots as have capacity there, and the others wait', async () => {
    await world.host('h1', 250);
    const { scheduler, events } = await world.scheduler({ id: 'service-1', kind: 'service' });
    const { driver: _none, ...local } = { access: 'exclusive', onLoss: 'keep', driver: '' } as const;
    const pair = makeJob('pair', { type: 'service' }, { count: 2, volumes: { data: local } }, 100);
    await world.submit(pair);
    await world.until(() => usesOf('pair').length === 2, 'both run');
    await world.submit(pair, 2, 'stop');
    await world.until(() => usesOf('pair').length === 0, 'both are gone');
    await world.submit(makeJob('other', { type: 'service' }, { count: 1 }, 100));
    await world.until(() => world.allocations().length === 1, 'another has the place of one');
    await world.submit(pair, 3);
    await world.until(() => usesOf('pair').length === 1, 'one is back');
    await world.until(() => scheduler.status().pending === 1, 'one waits');
    expect(events.filter(({ kind }) => kind === 'conflict')).toEqual([]);
  });

  it('S0.25 that somebody else claims under one name is waited for, and the reason says who has it', async () => {
    await world.host('h1', 4_000);
    const { scheduler, events } = await world.scheduler({ id: 'service-1', kind: 'service' });
    const local = { access: 'exclusive', onLoss: 'keep', claim: 'pg' } as const;
    const claiming = (name: string): Job =>
      makeJob(name, { type: 'service' }, { count: 1, volumes: { data: local } }, 100);
    await world.submit(claiming('one'));
    await world.until(() => usesOf('one').length === 1, 'the first one has it');
    await world.submit(claiming('two'));
    await world.until(() => scheduler.status().pending === 1, 'the second one waits');
    expect((await whyOf('two'))?.summary).toContain('volume pg has a holder on h1, and is not shared');
    await world.submit(claiming('one'), 2, 'stop');
    await world.until(() => usesOf('two').length === 1, 'the second one has it');
    expect(events.filter(({ kind }) => kind === 'conflict')).toEqual([]);
  });
});
