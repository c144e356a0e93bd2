import { afterEach, describe, expect, it } from 'vitest';
import { GangChecker } from '../../../../sim/checkers/commits/gangs.ts';
import { CellReplay } from '../../../../sim/checkers/replay/replay.ts';
import { Findings } from '../../../../sim/checkers/replay/violations.ts';
import { CAUSES } from '../../../../src/core/slots/job-view.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';
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
