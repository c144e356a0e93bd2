import { describe, expect, it } from 'vitest';
import type { Theme } from '../../sim/suite/suite.ts';
import { suiteRun } from '../../sim/suite/suite.ts';
import type { Fault } from '../../sim/nemesis/fault.ts';
import { seedOptions } from '../../sim/seeds/seeds.ts';
import { runWorld } from '../../sim/world/run-world.ts';
import { planOf } from '../../sim/world/plan.ts';
import type { Scenario } from '../../sim/world/scenario.ts';
import { BUSY_CELL } from '../../sim/world/scenario.ts';

/** Runs that once went wrong. Each is a seed with the faults that were needed, and says what was the matter. */
const REGRESSIONS: readonly {
  readonly what: string;
  readonly seed: number;
  readonly plan: readonly Fault[];
  /** Names of the requests that it took; all of the seed's without them. */
  readonly only?: readonly string[];
  /** Several such times as much time for everything. */
  readonly slower?: Partial<Scenario>;
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
  {
    what: 'I45 I7 nobody gives back the room of a job that another scheduler owns by now',
    seed: 138,
    plan: [
      { kind: 'reboot', target: 'host-1', atMs: 1_500, durationMs: 15_260 },
      { kind: 'store-down', target: '', atMs: 9_788, durationMs: 4_256 },
    ],
    only: ['job-7', 'job-2'],
    slower: {
      ...{ hosts: 4, monitors: 3, arbiters: 2, activeMs: 60_000, quietMs: 60_000 },
      schedulers: ['batch', 'batch', 'service', 'service', 'system'],
    },
  },
  {
    what: 'I55 a claim that a full store did not take back is asked about again, and not forgotten',
    seed: 1120,
    plan: [
      { kind: 'reboot', target: 'host-1', atMs: 1_116, durationMs: 7_422 },
      { kind: 'store-full', target: '', atMs: 8_931, durationMs: 710 },
    ],
  },
  {
    what: 'I10 a group that was refused is tried again in time though the wall clock was ahead and is set back',
    seed: 3154,
    plan: [
      { kind: 'clock-step', target: 'host-3', amount: 262_182, atMs: 7_831, durationMs: 2_612 },
      { kind: 'clock-step', target: 'batch-1', amount: 418_052, atMs: 9_307, durationMs: 5_693 },
    ],
    only: ['job-8', 'job-1', 'job-9', 'job-5', 'job-6', 'job-7', 'job-4'],
  },
  {
    what: 'I52 what a scheduler kept is told once, though it lost its session in between',
    seed: 76,
    plan: [
      { kind: 'watches-lag', target: '', amount: 0.885, atMs: 1_048, durationMs: 56 },
      { kind: 'replies-lost', target: '', amount: 0.1, atMs: 4_374, durationMs: 95 },
      { kind: 'cut-from', target: 'service-1', other: 'store', atMs: 10_003, durationMs: 4_381 },
    ],
  },
];

/** With all the faults that the seed draws. */
const WHOLE: readonly { readonly what: string; readonly seed: number; readonly everyMs?: number }[] = [
  {
    what: 'I6 a gang for which room is made is not placed without the members that are held for it',
    ...{ seed: 13, everyMs: 1_500 },
  },
  { what: 'I10 what was put by unread is read before a host is asked again that refused', seed: 2656 },
  { what: 'I10 a service that has used up its attempts is not waited for', seed: 2868 },
  { what: 'a run in which the arbiter is ahead of its hosts need not start much', seed: 6557 },
];

/** The same in the suite that looks for planted bugs. */
const IN_SUITE: readonly { readonly what: string; readonly theme: Theme; readonly seed: number }[] = [
  { what: 'S4.12 a gang that is refused takes nothing of its quota', theme: 'quota', seed: 3999 },
  {
    what: 'I6 a gang of which a host refuses one member stands whole: another host takes it over with the claim',
    theme: 'refused',
    seed: 2,
  },
  {
    what: 'I22 a gang that has waited as long as it may is not placed by what was searched for it before',
    theme: 'hushed',
    seed: 80,
  },
  {
    what: 'I6 room that is made for some members of a gang is not taken while another has ended meanwhile',
    theme: 'silent',
    seed: 27,
  },
  {
    what: 'I53 after the loss of the store what runs comes back under its own id, and what has ended is not begun again',
    theme: 'restored',
    seed: 2,
  },
  {
    what: 'I54 a restored record of what is over does not hold the room of what came after it',
    theme: 'restored',
    seed: 40,
  },
  {
    what: 'I10 I53 what runs and the store forgot waits for its room, and nobody is placed in its slot meanwhile',
    theme: 'restored',
    seed: 351,
  },
  {
    what: 'I55 what a restored job has is stopped though not all of it can come back',
    theme: 'restored',
    seed: 8059,
  },
  {
    what: 'I6 a scheduler that lost its session does not make its gang effective in the restored store',
    theme: 'begun',
    seed: 117,
  },
  {
    what: 'I1 I3 a list from before one gave way does not undo what its owner knows of it',
    theme: 'begun',
    seed: 125,
  },
  {
    what: 'I52 a follower of events that turns to a monitor that lags is told so, and of every end',
    theme: 'followed',
    seed: 1,
  },
  {
    what: 'I9 a quota is free again when a host has released what it held, before the record says so',
    theme: 'quota',
    seed: 8,
  },
  {
    what: 'I6 of two members that are refused at once, the second is not taken over when the first ends the gang',
    theme: 'restored',
    seed: 51,
  },
  {
    what: 'I1 what waits for room that somebody gives up goes on waiting when its agent comes back',
    theme: 'crash',
    seed: 44,
  },
  {
    what: 'I9 I40 a quota is free again when a host was told to stop what had not begun',
    theme: 'quota',
    seed: 268,
  },
  {
    what: 'I45 I55 a start that was refused is not begun when a copy of the order comes later, with room and without a claim',
    theme: 'lost',
    seed: 215,
  },
  {
    what: 'I55 nor does it hold room on its host then',
    theme: 'race',
    seed: 79,
  },
  {
    what: 'I6 members of a gang are not placed while the successor of another waits for its ticket',
    theme: 'lossy',
    seed: 127,
  },
  {
    what: 'I6 the successor of a member is not committed after its gang was marked to begin again',
    theme: 'repeated',
    seed: 38,
  },
  {
    what: 'I6 a member that waits for its ticket is not committed when its gang was stopped and the others have gone',
    theme: 'parted',
    seed: 464,
  },
];

describe('runs that once went wrong', () => {
  for (const { what, seed, plan, only, slower = {} } of REGRESSIONS)
    it(`${what} (seed ${String(seed)})`, async () => {
      const options = { seed, scenario: { ...BUSY_CELL, ...slower }, faults: {}, faultPlan: plan };
      const { requests } = planOf(options);
      const asked = only === undefined ? requests : requests.filter(({ name }) => only.includes(name));
      const { violations, work } = await runWorld({ ...options, requests: asked });
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      expect(work.outcomes).toBeGreaterThan(0);
    });

  for (const { what, theme, seed } of IN_SUITE)
    it(`${what} (${theme} ${String(seed)})`, async () => {
      const { violations, work } = await suiteRun(theme, seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      expect(work.outcomes).toBeGreaterThan(0);
    });

  for (const { what, seed, everyMs } of WHOLE)
    it(`${what} (seed ${String(seed)})`, async () => {
      const { violations } = await runWorld({ ...seedOptions(seed, { everyMs }), scenario: BUSY_CELL });
      expect(violations).toEqual([]);
    });
});
