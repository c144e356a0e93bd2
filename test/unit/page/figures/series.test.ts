import { expect, it } from 'vitest';
import { linePoints, looked, SAMPLES_MAX } from '../../../../page/figures/series.ts';
import type { SchedulerStatus } from '../../../../src/wire/api/scheduler-api.ts';

const status = (counts: Partial<SchedulerStatus>): SchedulerStatus => ({
  ...{ id: 's', kind: 'batch', policy: 'p', jobsOwned: 0, pending: 0, decisions: 0 },
  ...{ committed: 0, rebased: 0, conflicted: 0, unknownResolved: 0, ticketsRefused: 0, startsRefused: 0 },
  ...{ busyFraction: 0, commitP50Ms: null, commitP99Ms: null, storeTrouble: null },
  ...counts,
});

it('28 what a scheduler did between two looks is the difference of its counters', () => {
  const first = looked(undefined, status({ decisions: 5, committed: 100, conflicted: 50 }), 1_000);
  expect(first.samples).toEqual([]);
  const second = looked(
    first,
    status({ decisions: 9, committed: 106, conflicted: 52, rebased: 2, busyFraction: 0.25 }),
    3_000,
  );
  expect(second.samples).toEqual([{ atMs: 3_000, busy: 0.25, conflicts: 0.2, rebases: 1 }]);
});

it('28 a scheduler that began anew has no past', () => {
  const known = looked(looked(undefined, status({ decisions: 5 }), 0), status({ decisions: 9 }), 1_000);
  expect(looked(known, status({ decisions: 1 }), 2_000).samples).toEqual([]);
});

it('28 keeps some minutes, and draws the newest at the right edge', () => {
  let history = looked(undefined, status({}), 0);
  for (let n = 1; n <= SAMPLES_MAX + 20; n++)
    history = looked(history, status({ decisions: n, committed: n }), n * 1_000);
  expect(history.samples).toHaveLength(SAMPLES_MAX);
  const box = { width: SAMPLES_MAX - 1, height: 10, top: 1 };
  expect(linePoints([0, 0.5, 7], box)).toBe('177.0,9.0 178.0,5.0 179.0,1.0');
  expect(linePoints([], box)).toBe('');
});
