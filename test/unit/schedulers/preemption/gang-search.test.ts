import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../../../../src/core/cell/job.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

describe("the search for a large gang's room, and what else there is to do", () => {
  let world: CellWorld;
  /** Whether the search has come to its end: who was chosen is looked up in the store. */
  let isChosen = false;
  beforeEach(() => {
    world = new CellWorld();
    isChosen = false;
  });
  afterEach(() => world.close());

  const gang = (count: number, cpuMilli: number): Job =>
    makeJob('huge', { precedence: 80 }, { count, gang: true }, cpuMilli);

  /** Hosts of 120,000 each, which one possible victim fills. */
  const filled = async (hosts: number): Promise<void> => {
    for (let at = 0; at < hosts; at++) await world.host(`h${String(at)}`, 120_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('low', { precedence: 10, type: 'service' }, { count: hosts }, 120_000));
    await world.until(() => world.running().length === hosts, 'a full cell');
    await world.scheduler({ id: 'batch-1' }, (store) =>
      reading(store, (names) => {
        isChosen ||= names.some((name) => name.startsWith(`${keys.allocations}default/low/`));
      }),
    );
  };

  /** When so many hosts have been asked, and answer: from then on nothing but the search's own pauses holds it up. */
  const onAnswer = (asked: number, act: () => void): void => {
    let left = asked;
    world.fate = ({ method, url }, from) => {
      if (from !== 'batch-1' || method !== 'GET' || !url.endsWith('/v1/allocations')) return 'pass';
      if (--left !== 0) return 'pass';
      return new Promise<'pass'>((resolve) => {
        world.clock.after(5, () => {
          act();
          resolve('pass');
        });
      });
    };
  };

  /** Counts the returns to the event loop before the search has ended: one while the answer is on its way. */
  const countTurns = async (asked: number): Promise<number> => {
    let turns = -1;
    const turn = (): void => {
      turns += 1;
      if (!isChosen) world.clock.after(0, turn);
    };
    onAnswer(asked, turn);
    await world.until(() => isChosen, 'the choice of the victims');
    return turns;
  };
  const membersRunning = (): number => world.running().filter(({ job }) => job === 'huge').length;

  it('S3.47 yields to the event loop while hosts are found for the members', async () => {
    await filled(1);
    await world.submit(gang(120, 1_000));
    expect(await countTurns(1)).toBeGreaterThanOrEqual(3);
    await world.until(() => membersRunning() === 120, 'the gang');
  });

  it('S3.47 yields to the event loop while surplus victims are dropped', async () => {
    await filled(40);
    await world.submit(gang(40, 100_000));
    expect(await countTurns(40)).toBeGreaterThanOrEqual(2);
    await world.until(() => membersRunning() === 40, 'the gang');
  });

  it('as many hosts as are asked at once are asked in the first round, before any victim is chosen', async () => {
    // No more hosts than that: one drawn twice would be missed.
    await filled(8);
    const asked: string[] = [];
    let answer: () => void = () => undefined;
    const answered = new Promise<'pass'>((resolve) => (answer = () => resolve('pass')));
    world.fate = ({ method, url }, from) => {
      if (from !== 'batch-1' || method !== 'GET' || !url.endsWith('/v1/allocations')) return 'pass';
      asked.push(url);
      return answered;
    };
    await world.submit(gang(8, 100_000));
    await world.until(() => asked.length > 0, 'the first question');
    // Whoever is asked in this round is asked by now, and none of the next before these answer.
    await world.clock.advance(100);
    expect([asked.length, new Set(asked).size]).toEqual([8, 8]);
    answer();
    await world.until(() => membersRunning() === 8, 'the gang');
  });

  it('S1.2 a gang that is stopped while its room is looked for is looked after no further', async () => {
    await filled(1);
    const job = gang(120, 1_000);
    await world.submit(job);
    let isStopped = false;
    onAnswer(1, () => {
      const stop = (): void => {
        isStopped = true;
        void world.submit(job, 2, 'stop');
      };
      // In the middle of the search, not before it.
      world.clock.after(0, () => world.clock.after(0, stop));
    });
    await world.until(() => isStopped && world.owners().length === 1, 'the end of the job');
    await world.clock.advance(30_000);
    expect([isChosen, world.allocations().length, world.running().length]).toEqual([false, 1, 1]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('I22 I24 a gang that has waited as long as it may is not placed by what was searched for it before', async () => {
    await filled(1);
    // Room for one of them: it is held while room is made for the other.
    await world.host('free', 50_000);
    let answer: () => void = () => undefined;
    const answered = new Promise<'pass'>((resolve) => (answer = () => resolve('pass')));
    world.fate = ({ method, url }, from) =>
      from === 'batch-1' && method === 'GET' && url.endsWith('/v1/allocations') ? answered : 'pass';
    const waits = { count: 2, gang: true, waitMaxMs: 1_000 };
    await world.submit(makeJob('huge', { precedence: 80 }, waits, 50_000));
    await world.until(() => world.outcomes().length > 0, 'one that is given up');
    answer();
    await world.until(() => world.owners().length === 1, 'the end of the job');
    expect(world.outcomes().map(({ cause, attempt }) => [cause, attempt])).toEqual([
      ['unplaceable', 1],
      ['unplaceable', 1],
    ]);
    expect([isChosen, world.allocations().length, world.running().length]).toEqual([false, 1, 1]);
  });

  it('S4.30 a scheduler that steps down leaves off in the middle', async () => {
    await filled(1);
    await world.submit(gang(120, 1_000));
    let stopped: Promise<unknown> | null = null;
    onAnswer(1, () => {
      world.clock.after(0, () => {
        stopped = world.members[1]?.scheduler.stop() ?? null;
      });
    });
    await world.until(() => stopped !== null, 'the stop');
    await world.clock.advance(30_000);
    expect([isChosen, world.allocations().length]).toEqual([false, 1]);
  });
});

/** The same store; `look` sees the keys of each read. */
function reading(store: CellStore, look: (names: readonly string[]) => void): CellStore {
  const read: CellStore['read'] = (names, ...rest) => {
    look(names);
    return store.read(names, ...rest);
  };
  return withCalls(store, { read });
}
