import { afterEach, describe, expect, it } from 'vitest';
import { GangChecker } from '../../../../sim/checkers/commits/gangs.ts';
import { CellReplay } from '../../../../sim/checkers/replay/replay.ts';
import { Findings } from '../../../../sim/checkers/replay/violations.ts';
import { CAUSES } from '../../../../src/core/slots/job-view.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { withCalls } from '../../../support/changed-store.ts';
import type { Fate } from '../../../support/memory-network.ts';
import { CellWorld, keys, makeJob, marksStops } from '../cell-world.ts';
import type { FakeHost } from '../fake-host.ts';

let world: CellWorld;
afterEach(() => world.close());

/** What the checker of gangs says of every revision so far. */
function violations(): readonly unknown[] {
  const findings = new Findings();
  const replay = new CellReplay(keys);
  const checker = new GangChecker();
  for (const { revision, changes } of world.cell.past('', 1))
    checker.check(replay.apply(revision, changes), replay.cell, findings);
  return findings.violations;
}

async function hosts(count: number, cpuMilli = 1_000) {
  return Promise.all(Array.from({ length: count }, (_, n) => world.host(`h${String(n + 1)}`, cpuMilli)));
}

/** The first hosts that are asked to start something refuse it, and all else. */
function refuseFirst(all: readonly FakeHost[], count: number): ReadonlySet<string> {
  const refusing = new Set<string>();
  for (const host of all)
    host.behaviour = () => {
      if (refusing.size < count) refusing.add(host.id);
      return refusing.has(host.id) ? { refuse: 'port-taken' } : 'run';
    };
  return refusing;
}

/** Holds what comes until it is opened. */
class Held {
  #isOpen = false;
  readonly #go: (() => void)[] = [];

  get waiting(): number {
    return this.#go.length;
  }

  async wait(): Promise<void> {
    if (!this.#isOpen) await new Promise<void>((resolve) => this.#go.push(resolve));
  }

  open(): void {
    this.#isOpen = true;
    for (const go of this.#go.splice(0)) go();
  }
}

const runs = (count: number) => () => world.running().length === count;

describe('a gang of which one member is refused', () => {
  it('I6 another host takes the member over in the commit that gives its claim back', async () => {
    world = new CellWorld();
    const refusing = refuseFirst(await hosts(4), 1);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('gang', {}, { count: 3, gang: true }));
    await world.until(runs(3), 'the gang');
    expect(refusing.size).toBe(1);
    expect(world.allocations()).toHaveLength(3);
    expect(world.outcomes()).toEqual([]);
    expect(world.ledgersAreTrue()).toBe(true);
    expect(violations()).toEqual([]);
  });

  it('I6 where no other host has room it ends whole, and begins again when one has', async () => {
    world = new CellWorld();
    const [h1] = await hosts(3);
    if (h1 === undefined) throw new Error('no host');
    h1.behaviour = () => ({ refuse: 'port-taken' });
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('gang', {}, { count: 3, gang: true }));
    await world.until(() => world.outcomes().length >= 3, 'the end of the gang');
    expect(world.outcomes().every(({ cause }) => cause?.startsWith(CAUSES.gangBroken))).toBe(true);
    h1.behaviour = () => 'run';
    await world.until(runs(3), 'the gang');
    expect(world.ledgersAreTrue()).toBe(true);
    expect(violations()).toEqual([]);
  });

  it('I6 two that are refused at once are taken over one after the other', async () => {
    world = new CellWorld();
    const refusing = refuseFirst(await hosts(5), 2);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('gang', {}, { count: 3, gang: true }));
    await world.until(runs(3), 'the gang');
    expect(refusing.size).toBe(2);
    expect(world.outcomes()).toEqual([]);
    expect(violations()).toEqual([]);
  });

  it('I55 ends whole though another task of the job is being marked to stop when it is refused', async () => {
    world = new CellWorld();
    const [h1] = await hosts(3);
    if (h1 === undefined) throw new Error('no host');
    h1.behaviour = ({ allocation: { group } }) => (group === 'other' ? 'run' : { refuse: 'port-taken' });
    const marks = new Held();
    const starts = new Held();
    const wrap = (store: CellStore): CellStore =>
      withCalls(store, {
        attempt: async (attempt) => {
          if (marksStops(attempt)) await marks.wait();
          return store.attempt(attempt);
        },
      });
    world.fate = async ({ method, url, body }): Promise<Fate> => {
      const isOfGang = JSON.stringify(body ?? null).includes('"group":"gang"');
      if (method === 'PUT' && url.startsWith(h1.address) && isOfGang) await starts.wait();
      return 'pass';
    };
    await world.scheduler({ id: 'batch-1' }, wrap);
    const { groups } = makeJob('gang', {}, { count: 3, gang: true }, 900);
    const [other] = Object.values(makeJob('gang', {}, { count: 2 }, 50).groups);
    const job = makeJob('gang', { groups: { ...groups, other: { ...other!, name: 'other' } } });
    await world.submit(job);
    await world.until(() => world.running().length === 4 && starts.waiting > 0, 'all but one');
    await world.submit(
      { ...job, groups: { ...job.groups, other: { ...other!, name: 'other', count: 1 } } },
      2,
    );
    await world.until(() => marks.waiting > 0, 'the mark');
    starts.open();
    await world.clock.advance(1_000);
    marks.open();
    const broken = (): number =>
      world.outcomes().filter(({ cause }) => cause?.startsWith(CAUSES.gangBroken)).length;
    await world.until(() => broken() >= 3, 'the end of the gang');
    expect(violations()).toEqual([]);
  });

  it('I6 a successor finishes the end that a scheduler began before it died', async () => {
    world = new CellWorld();
    const all = await hosts(3);
    const [h1] = all;
    if (h1 === undefined) throw new Error('no host');
    h1.behaviour = () => ({ refuse: 'port-taken' });
    for (const host of all) host.holdStops = true;
    const first = await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('gang', {}, { count: 3, gang: true }));
    await world.until(() => world.allocations().some(({ desired }) => desired === 'stop'), 'the first mark');
    await world.kill(first);
    h1.behaviour = () => 'run';
    await world.scheduler({ id: 'batch-2' });
    for (const host of all) host.holdStops = false;
    await world.until(() => world.outcomes().length === 3 && runs(3)(), 'the gang');
    expect(violations()).toEqual([]);
  });
});
