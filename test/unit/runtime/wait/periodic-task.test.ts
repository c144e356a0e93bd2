import { expect, it } from 'vitest';
import { PeriodicTask } from '../../../../src/runtime/wait/periodic-task.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const PERIOD_MS = 1_000;

it('runs one at a time, and is closed when its last run has ended', async () => {
  const clock = new ManualClock();
  const ends: (() => void)[] = [];
  const task = new PeriodicTask(clock, PERIOD_MS, () => new Promise((end) => ends.push(end)));
  for (let periods = 0; periods < 3; periods++) await clock.advance(PERIOD_MS);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await clock.advance(PERIOD_MS);
  expect(ends).toHaveLength(2);
  let isClosed = false;
  const closed = task.close().then(() => (isClosed = true));
  await clock.advance(PERIOD_MS);
  expect([ends.length, isClosed]).toEqual([2, false]);
  ends[1]?.();
  await closed;
});
