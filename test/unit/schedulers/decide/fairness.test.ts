import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../../../../src/core/cell/job.ts';
import { expr } from '../../core/placement/placement-fixtures.ts';
import type { SchedulerEvent } from '../../../../src/wire/api/scheduler-api.ts';
import type { Member } from '../cell-world.ts';
import { CellWorld, makeJob } from '../cell-world.ts';

/** Each decision takes so long, and nothing else takes any time. */
const DECISION_MS = 20;
const PICKY_JOBS = 40;

describe('scheduling time is shared', () => {
  let world: CellWorld;
  let member: Member;
  beforeEach(async () => {
    world = new CellWorld();
    for (let n = 0; n < 4; n++) await world.host(`h${String(n)}`, 10_000_000);
    member = await world.scheduler({ id: 'batch-1', thinkMs: { job: DECISION_MS, task: 0 } });
  });
  afterEach(() => world.close());

  const eventsOf = (kind: SchedulerEvent['kind'], job: string): SchedulerEvent[] =>
    member.events.filter((event) => event.kind === kind && event.job === job);

  /** Submits ten tasks of another tenant in the midst of it. @returns decisions from its owning to its last placement */
  const decisionsUntilSmall = async (): Promise<number> => {
    const small: Job = makeJob('small', { namespace: 'small' }, { count: 10 }, 1);
    await world.submit(small);
    await world.until(() => eventsOf('placed', 'small').length === 10, 'the small job');
    const owned = eventsOf('owned', 'small')[0]?.atMs ?? Number.NaN;
    const placed = eventsOf('placed', 'small').at(-1)?.atMs ?? Number.NaN;
    return (placed - owned) / DECISION_MS;
  };

  it('S3.47 ten tasks wait for two slices of a job of 15,000 of another tenant, and not for the job', async () => {
    await world.submit(makeJob('large', { namespace: 'large' }, { count: 15_000 }, 1));
    await world.until(() => eventsOf('placed', 'large').length > 0, 'the first of the large job');
    // The decision under way, one more turn of the other tenant, and its own.
    expect(await decisionsUntilSmall()).toBeLessThanOrEqual(3);
    const placed = world.allocations().filter(({ job }) => job === 'large').length;
    expect(placed).toBeLessThan(15_000 / 2);
  });

  it('S3.48 ten tasks wait for two searches of another tenant, however many picky jobs it has', async () => {
    await world.host('mars', 10_000_000, { zone: 'mars' });
    const constraints = [expr('zone', '==', 'mars')];
    for (let n = 0; n < PICKY_JOBS; n++)
      await world.submit(makeJob(`picky-${String(n)}`, { namespace: 'picky' }, { constraints }, 1));
    const picky = () => world.allocations().filter(({ namespace }) => namespace === 'picky');
    await world.until(() => picky().length > 0, 'the first picky job');
    expect(await decisionsUntilSmall()).toBeLessThanOrEqual(3);
    expect(picky().length).toBeLessThan(PICKY_JOBS / 2);
    expect(picky().every(({ host }) => host === 'mars')).toBe(true);
  });
});
