import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Group, Job } from '../../../../src/core/cell/job.ts';
import type { PlanAct } from '../../../../src/wire/plan/plan.ts';
import { makeHost, amounts } from '../../core/placement/placement-fixtures.ts';
import { makeJob } from '../cell-world.ts';
import { placesAfter, PlanWorld, SAME_CELL } from './plan-world.ts';

const acts = (all: readonly PlanAct[] = []): readonly string[] =>
  all.map(({ act, slot, host, from }) => `${act} ${slot} ${from === undefined ? '' : `${from}→`}${host}`);

describe('what a scheduler would decide', () => {
  let world: PlanWorld;
  beforeEach(() => (world = new PlanWorld()));
  afterEach(() => world.close());

  const web = (group: Partial<Group>, cpuMilli = 1_000, part: Partial<Job> = {}): Job =>
    makeJob('web', { type: 'service', ...part }, { minHealthyMs: 1_000, ...group }, cpuMilli);

  const running = async (job: Job, count: number): Promise<void> => {
    await world.submit(job);
    await world.until(() => world.placesOf(job.name).length === count, `${job.name} runs`);
    await world.quiet();
  };

  /** The plan of a submission, which must change nothing, and then the submission. */
  const plannedAndDone = async (job: Job, version: number) => {
    const before = world.placesOf(job.name);
    const [stored, ordered] = [world.stored(), world.ordered()];
    const plan = await world.planOf('service-1', { submit: world.recordOf(job, version) });
    expect(world.stored()).toBe(stored);
    expect(world.ordered()).toBe(ordered);
    const ofJob = plan.jobs.find((one) => one.job === job.name);
    await world.submit(job, version);
    await world.quiet();
    expect(placesAfter(before, ofJob?.acts ?? [])).toEqual(world.placesOf(job.name));
    return { plan, ofJob };
  };

  it('a new job: where each would start, and what would wait for what', async () => {
    await world.host('h1', 2_000);
    await world.host('h2', 1_500);
    await world.started({ id: 'service-1', kind: 'service' });
    const { ofJob } = await plannedAndDone(web({ count: 5 }), 1);
    expect(ofJob?.acts).toHaveLength(3);
    expect(ofJob?.waits).toMatchObject([{ group: 'web', waiting: 2, waitingBefore: 0 }]);
    expect(ofJob?.waits[0]?.detail).toContain('cpu');
  });

  it('another count starts or stops only the difference', async () => {
    for (const [n, id] of ['h1', 'h2', 'h3'].entries()) await world.host(id, 4_000 + n);
    await world.started({ id: 'service-1', kind: 'service' });
    await running(web({ count: 3 }), 3);
    const more = await plannedAndDone(web({ count: 5 }), 2);
    expect(more.ofJob?.acts.map(({ act }) => act)).toEqual(['start', 'start']);
    const less = await plannedAndDone(web({ count: 1 }), 3);
    expect(less.ofJob?.acts.map(({ act, cause }) => [act, cause])).toEqual(
      Array(4).fill(['stop', 'scaled down']),
    );
    const same = await plannedAndDone(web({ count: 1 }), 4);
    expect(same.ofJob).toMatchObject({ acts: [], waits: [] });
  });

  it('an update stop-first stops each before it starts it again', async () => {
    for (const [n, id] of ['h1', 'h2'].entries()) await world.host(id, 2_000 + n);
    await world.started({ id: 'service-1', kind: 'service' });
    await running(web({ count: 2 }), 2);
    const { ofJob } = await plannedAndDone(web({ count: 2 }, 1_500), 2);
    expect(ofJob?.acts.map(({ act, slot }) => `${act} ${slot}`)).toEqual([
      ...['stop web[0]', 'start web[0]', 'stop web[1]', 'start web[1]'],
    ]);
    expect(ofJob?.acts.every(({ act, from }) => act === 'stop' || from !== undefined)).toBe(true);
  });

  it('an update start-first starts one beyond the count first, and ends it last', async () => {
    for (const [n, id] of ['h1', 'h2'].entries()) await world.host(id, 4_000 + n);
    await world.started({ id: 'service-1', kind: 'service' });
    const update = { strategy: 'start-first' } as const;
    await running(web({ count: 2, update }), 2);
    const { ofJob } = await plannedAndDone(web({ count: 2, update }, 1_500), 2);
    const order = ofJob?.acts.map(({ act, slot }) => `${act} ${slot}`) ?? [];
    expect(order[0]).toBe('start web[2]');
    expect(order.at(-1)).toBe('stop web[2]');
    expect(order).toHaveLength(6);
  });

  it('an update with a canary stops where somebody must promote it', async () => {
    for (const [n, id] of ['h1', 'h2'].entries()) await world.host(id, 4_000 + n);
    await world.started({ id: 'service-1', kind: 'service' });
    const update = { canary: 1 };
    await running(web({ count: 2, update }), 2);
    const { ofJob } = await plannedAndDone(web({ count: 2, update }, 1_500), 2);
    expect(ofJob?.acts.map(({ act, slot }) => `${act} ${slot}`)).toEqual(['start web[2]']);
    expect(ofJob?.waits).toMatchObject([{ stage: 'updating', waiting: 0 }]);
    expect(ofJob?.waits[0]?.detail).toContain('moorage rollout promote web');
  });

  it('a preemption tells its victims, and where those would go', async () => {
    await world.host('h1', 2_000);
    await world.started({ id: 'service-1', kind: 'service' });
    await running(makeJob('low', { type: 'service', precedence: 10 }, { count: 2 }), 2);
    await world.host('h2', 1_000);
    const { plan, ofJob } = await plannedAndDone(web({ count: 1 }, 2_000, { precedence: 80 }), 1);
    expect(acts(ofJob?.acts).slice(0, 2).sort()).toEqual(['preempt low[0] h1', 'preempt low[1] h1']);
    expect(acts(ofJob?.acts).slice(2)).toEqual(['start web[0] h1']);
    const low = plan.jobs.find(({ job }) => job === 'low');
    expect(low?.acts.filter(({ act }) => act === 'start')).toMatchObject([{ host: 'h2', from: 'h1' }]);
    expect(low?.waits).toMatchObject([{ waiting: 1 }]);
    expect(world.placesOf('low')).toHaveLength(1);
  });

  it('victims of another scheduler are named, and that one says what they would do', async () => {
    await world.host('h1', 1_000);
    await world.started({ id: 'service-1', kind: 'service' });
    await world.started({ id: 'batch-1' });
    const reschedule = { attempts: 3, delayMs: 0, delayMaxMs: 0, onHostLost: true };
    await running(makeJob('low', { precedence: 10 }, { reschedule }), 1);
    await world.host('h2', 1_000);
    const submit = world.recordOf(web({ count: 2 }, 1_000, { precedence: 80 }), 1);
    const plan = await world.planOf('service-1', { submit });
    expect(plan.evicted).toMatchObject([{ job: 'low', by: 'default/web' }]);
    expect(plan.freed).toHaveLength(1);
    const cell = { ...SAME_CELL, placed: plan.placed, freed: plan.freed };
    const other = await world.planOf('batch-1', { cell, evicted: plan.evicted });
    expect(acts(other.jobs[0]?.acts)).toEqual(['stop low[0] h1']);
    expect(other.jobs[0]?.waits).toMatchObject([{ waiting: 1 }]);
    expect(other.freed).toEqual([]);
  });

  it('a gang is planned whole or not at all', async () => {
    for (const [n, id] of ['h1', 'h2'].entries()) await world.host(id, 1_000 + n);
    await world.started({ id: 'service-1', kind: 'service' });
    const whole = await plannedAndDone(web({ count: 2, gang: true }), 1);
    expect(whole.ofJob?.acts).toHaveLength(2);
    const gang = makeJob('crew', { type: 'service' }, { count: 2, gang: true }, 1_000);
    const none = await plannedAndDone(gang, 1);
    expect(none.ofJob?.acts).toEqual([]);
    expect(none.ofJob?.waits).toMatchObject([{ waiting: 2 }]);
  });

  it('a system job starts on each matching host, one that would be added included', async () => {
    for (const id of ['h1', 'h2']) await world.host(id, 1_000);
    await world.started({ id: 'service-1', kind: 'service' });
    await world.started({ id: 'system-1', kind: 'system' });
    await running(makeJob('agent', { type: 'system' }, {}, 100), 2);
    const hostsAdded = [makeHost('h9', { capacity: amounts(1_000, 64_000, 64_000) })];
    const plan = await world.planOf('system-1', { cell: { ...SAME_CELL, hostsAdded }, affected: true });
    expect(acts(plan.jobs[0]?.acts)).toEqual(['start agent[2] h9']);
  });

  it('what-if a host is lost: its jobs move as they then do, or wait, and others stay', async () => {
    for (const [n, id] of ['h1', 'h2', 'h3'].entries()) await world.host(id, 2_000 + n);
    await world.started({ id: 'service-1', kind: 'service' });
    await running(web({ count: 3, reschedule: MOVES }, 1_500), 3);
    await running(makeJob('small', { type: 'service' }, { count: 1, reschedule: MOVES }, 100), 1);
    const [stored, ordered] = [world.stored(), world.ordered()];
    const cell = { ...SAME_CELL, hostsLost: ['h1'] };
    const plan = await world.planOf('service-1', { cell, affected: true });
    expect(world.stored()).toBe(stored);
    expect(world.ordered()).toBe(ordered);
    const ofWeb = plan.jobs.find(({ job }) => job === 'web');
    expect(ofWeb?.acts).toMatchObject([{ act: 'stop', host: 'h1', cause: 'host lost' }]);
    expect(ofWeb?.waits).toMatchObject([{ waiting: 1, waitingBefore: 0 }]);
    const planned = plan.jobs.map(({ job }) => job);
    const onH1 = ['web', 'small'].filter((job) => world.placesOf(job).some((place) => place.endsWith('h1')));
    expect(planned).toEqual(onH1);
  });

  it('what-if hosts are added: what waits would start there', async () => {
    await world.host('h1', 1_000);
    await world.started({ id: 'service-1', kind: 'service' });
    await running(web({ count: 3 }), 1);
    const hostsAdded = [makeHost('h1-new-1', { capacity: amounts(1_000, 64_000, 64_000) })];
    const plan = await world.planOf('service-1', { cell: { ...SAME_CELL, hostsAdded }, affected: true });
    expect(acts(plan.jobs[0]?.acts)).toEqual([expect.stringMatching(/^start web\[\d\] h1-new-1$/)]);
    expect(plan.jobs[0]?.waits).toMatchObject([{ waiting: 1, waitingBefore: 2 }]);
  });

  it('a job that nobody owns any more is planned from what the store holds of it', async () => {
    for (const [n, id] of ['h1', 'h2'].entries()) await world.host(id, 2_000 + n);
    await world.started({ id: 'service-1', kind: 'service' });
    await running(web({ count: 2 }), 2);
    await world.submit(web({ count: 2 }), 1, 'stop');
    await world.until(() => world.owners().length === 0, 'the end of the job');
    const { ofJob } = await plannedAndDone(web({ count: 1 }), 2);
    expect(ofJob?.acts).toMatchObject([{ act: 'start', slot: 'web[0]' }]);
  });
});

const MOVES = { attempts: 3, delayMs: 0, delayMaxMs: 0, onHostLost: true };
