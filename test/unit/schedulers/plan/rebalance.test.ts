import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Group, Job } from '../../../../src/core/cell/job.ts';
import type { PlanMove } from '../../../../src/wire/plan/plan.ts';
import { pauseRecord } from '../../../support/pauses.ts';
import { expr, makeGroup } from '../../core/placement/placement-fixtures.ts';
import { keys, makeJob } from '../cell-world.ts';
import { PlanWorld } from './plan-world.ts';

const NOT_READY = { state: 'running', restarts: 0, ready: false } as const;
const RESCHEDULE = makeGroup({}).reschedule;
let world: PlanWorld;
beforeEach(() => (world = new PlanWorld()));
afterEach(() => world.close());

const service = (name: string, group: Partial<Group> = {}, part: Partial<Job> = {}): Job =>
  makeJob(name, { type: 'service', ...part }, { minHealthyMs: 1_000, count: 2, ...group }, 100);

async function running(...jobs: readonly Job[]): Promise<void> {
  for (const job of jobs) {
    const { count } = Object.values(job.groups)[0] ?? { count: 0 };
    await world.submit(job);
    await world.until(() => world.placesOf(job.name).length === count, `${job.name} runs`);
  }
  await world.quiet();
}

/** The proposal of a scheduler, which changes nothing. */
async function movesOf(scheduler: string, budget: number): Promise<readonly PlanMove[]> {
  const [stored, ordered] = [world.stored(), world.ordered()];
  const { moves } = await world.planOf(scheduler, { rebalance: { budget } });
  expect(world.stored()).toBe(stored);
  expect(world.ordered()).toBe(ordered);
  return moves ?? [];
}

const told = (moves: readonly PlanMove[]): readonly string[] =>
  moves.map(({ slot, from, to }) => `${slot.replace(/\[\d+\]/, '')} ${from}→${to}`);

describe('what a rebalance would move', () => {
  it('S0.41 a host is there again: one copy of each service, so that the next failure takes no service whole', async () => {
    await world.host('h1');
    await world.started({ id: 'service-1', kind: 'service' });
    await running(service('web'), service('api'));
    await world.host('h2');
    const moves = await movesOf('service-1', 10);
    expect([...told(moves)].sort()).toEqual(['api h1→h2', 'web h1→h2']);
    for (const { gain, reason, job } of moves) {
      expect(gain).toBeGreaterThanOrEqual(1);
      expect(reason).toBe(`2 of group ${job} are on h1, none on h2`);
    }
  });

  it('S0.39 no more than its budget, whatever there is to gain', async () => {
    await world.host('h1');
    await world.started({ id: 'service-1', kind: 'service' });
    await running(...['a', 'b', 'c', 'd'].map((name) => service(name)));
    await world.host('h2');
    expect(await movesOf('service-1', 3)).toHaveLength(3);
    expect(await movesOf('service-1', 100)).toHaveLength(4);
  });

  it('S0.38 S0.40 S0.43 only what may be moved', async () => {
    await world.host('h1');
    await world.started({ id: 'service-1', kind: 'service' });
    await world.started({ id: 'batch-1', kind: 'batch' });
    await running(
      service('web'),
      service('single', { count: 1 }),
      service('first', { update: { strategy: 'start-first' } }),
      service('all-at-once', { update: { parallelism: 2 } }),
      service('stays', { reschedule: { ...RESCHEDULE, onDrain: false } }),
      service('asked', { reschedule: { ...RESCHEDULE, onDrain: false, onRequest: true } }),
      service('never', { reschedule: { ...RESCHEDULE, onRequest: false } }),
      service('gang', { gang: true }),
      service('held'),
      service('work', {}, { type: 'batch' }),
      service('everywhere', { count: 1 }, { type: 'system', scheduler: 'service' }),
    );
    await world.put(...pauseRecord(keys, { namespace: 'default', job: 'held' }));
    await world.host('h2');
    await world.quiet();
    expect([...told(await movesOf('service-1', 100))].sort()).toEqual([
      ...['asked h1→h2', 'first h1→h2', 'web h1→h2'],
    ]);
    expect(await movesOf('batch-1', 100)).toEqual([]);
  });

  it('S0.38 S0.43 nothing of a job that is stopped, or of which an update is under way or something is not up', async () => {
    await world.host('h1');
    await world.started({ id: 'service-1', kind: 'service' });
    await running(service('stopped'), service('updated'), service('ill'));
    await world.submit(service('stopped'), 1, 'stop');
    await world.until(() => world.placesOf('stopped').length === 0, 'it is stopped');
    await world.host('h2');
    await world.quiet();
    const other = makeJob('updated', { type: 'service' }, { count: 2, minHealthyMs: 1e9 }, 200);
    await world.submit(other, 2);
    await world.until(() => world.allocations().some(({ jobVersion }) => jobVersion === 2), 'the update');
    const [ill] = world.running().filter(({ job }) => job === 'ill');
    if (ill === undefined) throw new Error('ill does not run');
    world.hosts.get(ill.host)?.change(ill.id, { tasks: { main: { ...NOT_READY } } });
    await world.clock.advance(1_000);
    expect(told((await world.planOf('service-1', { rebalance: { budget: 9 } })).moves ?? [])).toEqual([]);
  });

  it('S0.39 levels the load where the scheduler levels it, each move seeing the ones before, and then rests', async () => {
    await world.host('h1');
    await world.started({ id: 'service-1', kind: 'service', score: 'level' });
    const jobs = Array.from({ length: 8 }, (_, n) =>
      makeJob(`s${String(n)}`, { type: 'service' }, { count: 2 }, 200),
    );
    await running(...jobs);
    await world.host('h2');
    const moves = await movesOf('service-1', 100);
    expect(moves.length).toBeGreaterThanOrEqual(5);
    expect(moves.length).toBeLessThanOrEqual(8);
    expect(moves[0]?.reason).toBe('h1 is fuller than h2');
  });

  it('S0.39 S3.17 what would rather be near a class goes where the class is now, and then rests', async () => {
    await world.host('h1');
    await world.started({ id: 'service-1', kind: 'service' });
    const near = [{ class: 'cache', weight: 100 }];
    await running(service('web', { near, count: 1, update: { strategy: 'start-first' } }));
    await world.host('h2');
    await running(service('cache', { class: 'cache', count: 1, constraints: [expr('id', '==', 'h2')] }));
    const [move, ...more] = await movesOf('service-1', 10);
    expect(told(move === undefined ? [] : [move])).toEqual(['web h1→h2']);
    expect(move?.reason).toBe('group web prefers h2: its spread, affinity or neighbours');
    expect(more).toEqual([]);
  });

  it('S0.38 nothing where all is well, and nothing to pack hosts closer', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.started({ id: 'service-1', kind: 'service' });
    await running(service('a', { count: 3 }), service('b', { count: 1 }), service('c', { count: 2 }));
    expect(await movesOf('service-1', 100)).toEqual([]);
  });
});
