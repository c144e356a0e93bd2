import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SURPLUS_PRECEDENCE } from '../../../../src/core/cell/claim.ts';
import type { Group, Job } from '../../../../src/core/cell/job.ts';
import type { ElasticRule } from '../../../../src/core/elastic/elastic.ts';
import { DEFAULT_ELASTIC } from '../../../../src/core/elastic/elastic.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';
import { pauseRecord } from '../../../support/pauses.ts';

const ruled = (policy: ElasticRule['policy'], part: Partial<ElasticRule> = {}): ElasticRule => ({
  ...DEFAULT_ELASTIC,
  policy,
  ...part,
});
const MAX = ruled('max-parallelism');
const NEVER_AGAIN = { attempts: 0, delayMs: 0, delayMaxMs: 0, onHostLost: false };

describe('elastic jobs', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const elastic = (min: number, max: number, part: Partial<Job> = {}, group: Partial<Group> = {}): Job =>
    makeJob('map', { scheduler: 'elastic', ...part }, { count: min, countMax: max, ...group });
  const runningOf = (job: string): number => world.running().filter((one) => one.job === job).length;
  const has = (job: string, count: number): Promise<void> =>
    world.until(() => runningOf(job) === count, `${String(count)} of ${job}`);
  const end = (id: string, state: 'complete' | 'failed'): void => {
    for (const host of world.hosts.values())
      if (host.running.some((one) => one.id === id)) host.end(id, state);
  };
  const settled = async (job: string, count: number): Promise<void> => {
    await has(job, count);
    await world.clock.advance(30_000);
    expect(runningOf(job)).toBe(count);
    expect(world.ledgersAreTrue()).toBe(true);
  };
  const twoHosts = async (): Promise<void> => {
    await world.host('h1', 4_000);
    await world.host('h2', 4_000);
  };

  it('the minimum comes first and at the precedence of its job, then idle capacity is filled below everybody else', async () => {
    await twoHosts();
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.submit(elastic(2, 6));
    await settled('map', 6);
    const precedences = world.allocations().map(({ index, precedence }) => [index, precedence]);
    expect(precedences.sort()).toEqual([
      [0, 50],
      [1, 50],
      ...[2, 3, 4, 5].map((index) => [index, SURPLUS_PRECEDENCE]),
    ]);
  });

  it.each([
    [ruled('global-cap'), 4],
    [ruled('global-cap', { capPercent: 90 }), 7],
    [ruled('global-cap', { capPercent: 10 }), 2],
    [ruled('relative-job-size', { factor: 3 }), 6],
    [MAX, 8],
  ])('%o grows two of 2..20 in a cell of eight to %i', async (rule, count) => {
    await twoHosts();
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: rule });
    await world.submit(elastic(2, 20));
    await settled('map', count);
  });

  it('a job of the lowest precedence that needs the room gets it, the minimum stays, and what is free again is filled again', async () => {
    await twoHosts();
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.scheduler({ id: 'batch-1' });
    await world.submit(elastic(2, 8, { precedence: 0 }));
    await settled('map', 8);
    await world.submit(makeJob('other', { precedence: 0 }, { count: 3 }, 2_000));
    await has('other', 3);
    await settled('map', 2);
    for (const { cause, index } of world.outcomes()) {
      expect(cause).toBe('evicted by default/other');
      expect(index).toBeGreaterThanOrEqual(2);
    }
    for (const { id, job } of world.running()) if (job === 'other') end(id, 'complete');
    await settled('map', 8);
  });

  it('S3.10 surplus goes before anything of a lower precedence than the newcomer, also on another host', async () => {
    await world.host('h1', 4_000);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('low', { precedence: 1 }, { count: 4 }));
    await has('low', 4);
    await world.host('h2', 4_000);
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.submit(elastic(1, 4));
    await has('map', 4);
    await world.submit(makeJob('high', { precedence: 90 }, { count: 3 }, 1_000));
    await has('high', 3);
    await settled('low', 4);
    expect(runningOf('map')).toBe(1);
    await world.submit(makeJob('more', { precedence: 90 }, { count: 1 }, 1_000));
    await has('more', 1);
    expect(runningOf('low')).toBe(3);
  });

  it('a gang takes surplus too, all at once', async () => {
    await twoHosts();
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.scheduler({ id: 'batch-1' });
    await world.submit(elastic(1, 8));
    await settled('map', 8);
    await world.submit(makeJob('gang', { precedence: 0 }, { count: 3, gang: true }, 2_000));
    await has('gang', 3);
    await settled('map', 2);
  });

  it('while eviction is paused surplus stays', async () => {
    await world.host('h1', 4_000);
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.scheduler({ id: 'batch-1' });
    await world.put(...pauseRecord(keys, { what: 'eviction' }));
    await world.submit(elastic(1, 4));
    await has('map', 4);
    await world.submit(makeJob('other'));
    await settled('map', 4);
    expect(runningOf('other')).toBe(0);
  });

  it('a scheduler of another kind runs the minimum, and gives back what was grown before', async () => {
    await twoHosts();
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.scheduler({ id: 'batch-1' });
    await world.submit(elastic(2, 5));
    await has('map', 5);
    await world.submit(elastic(2, 5, { scheduler: 'batch' }), 2);
    await settled('map', 2);
  });

  it('when one instance has completed, the group grows no further and ends with its minimum', async () => {
    await twoHosts();
    const { events } = await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.submit(elastic(2, 4));
    await has('map', 4);
    const endOf = (index: number, state: 'complete' | 'failed'): void =>
      end(world.allocations().find((one) => one.index === index)?.id ?? '', state);
    endOf(3, 'complete');
    await settled('map', 3);
    for (const index of [0, 1]) endOf(index, 'complete');
    await settled('map', 1);
    expect(world.owners()).toHaveLength(1);
    endOf(2, 'failed');
    await world.until(() => world.owners().length === 0, 'the end');
    expect(events.find(({ kind }) => kind === 'finished')?.detail).toBe('complete');
  });

  it('surplus that fails for good does not fail the job, and no other instance is tried for it', async () => {
    await twoHosts();
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.submit(elastic(1, 3, {}, { reschedule: NEVER_AGAIN }));
    await has('map', 3);
    end(world.allocations().find(({ index }) => index === 2)?.id ?? '', 'failed');
    await settled('map', 2);
    expect(world.owners()).toHaveLength(1);
  });

  it('a larger minimum is placed anew at the precedence of the job; a smaller one gives up the rest', async () => {
    await twoHosts();
    await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.submit(elastic(1, 6));
    await has('map', 6);
    const firm = (): number => world.allocations().filter(({ precedence }) => precedence === 50).length;
    await world.submit(elastic(4, 6), 2);
    await world.until(() => firm() === 4 && runningOf('map') === 6, 'a minimum of four');
    await world.submit(elastic(2, 3), 3);
    await world.until(() => firm() === 2 && runningOf('map') === 3, 'three, two of them firm');
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('I12 another elastic scheduler takes over what has grown as it is', async () => {
    await twoHosts();
    const first = await world.scheduler({ id: 'elastic-1', kind: 'elastic', elastic: MAX });
    await world.submit(elastic(2, 8));
    await has('map', 8);
    const ids = world.allocations().map(({ id }) => id);
    await world.kill(first);
    await world.scheduler({ id: 'elastic-2', kind: 'elastic', elastic: MAX });
    await world.until(() => world.schedulersAlive().join() === 'elastic-2', 'the take-over');
    await settled('map', 8);
    expect(world.allocations().map(({ id }) => id)).toEqual(ids);
  });
});
