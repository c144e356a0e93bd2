import { describe, expect, it } from 'vitest';
import type { Fault } from '../../sim/nemesis/fault.ts';
import { seedOptions } from '../../sim/shrink/setting.ts';
import { runWorld } from '../../sim/world/run-world.ts';
import { SMALL_CELL } from '../../sim/world/scenario.ts';

/** Runs that once went wrong. Each is a seed with the faults that were needed, and says what was the matter. */
const REGRESSIONS: readonly {
  readonly what: string;
  readonly seed: number;
  readonly plan: readonly Fault[];
}[] = [
  {
    what: 'I13 I33 a loss of power leaves an empty folder of an attempt: it ran, and is not begun again',
    seed: 22,
    plan: [{ kind: 'reboot', target: 'host-2', atMs: 6_526, durationMs: 79 }],
  },
  {
    what: 'I45 I23 an allocation that is over begins no new attempt when its agent comes back',
    seed: 33,
    plan: [{ kind: 'reboot', target: 'host-1', atMs: 14_159, durationMs: 310 }],
  },
  {
    what: 'I55 I48 what a host says after its restart reaches schedulers through a monitor that says first that it is heard',
    seed: 1021,
    plan: [{ kind: 'kill', target: 'host-1', atMs: 2_269, durationMs: 1_361 }],
  },
  {
    what: 'I6 a member of a gang that its evictor has not reached yet is not placed by itself',
    seed: 1051,
    plan: [{ kind: 'slow-network', target: '', amount: 688.968, atMs: 9_563, durationMs: 5_437 }],
  },
];

describe('runs that once went wrong', () => {
  for (const { what, seed, plan } of REGRESSIONS)
    it(`${what} (seed ${String(seed)})`, async () => {
      const { violations, work } = await runWorld({
        ...{ seed, scenario: SMALL_CELL, faults: {}, faultPlan: plan },
      });
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      expect(work.outcomes).toBeGreaterThan(0);
    });

  it('I6 a gang for which room is made is not placed without the members that are held for it (seed 13)', async () => {
    const { violations } = await runWorld(seedOptions(13));
    expect(violations).toEqual([]);
  });
});
