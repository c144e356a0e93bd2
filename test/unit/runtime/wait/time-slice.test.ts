import { expect, it } from 'vitest';
import { TimeSlice } from '../../../../src/runtime/wait/time-slice.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

it('S3.48 a slice is used up by time or by steps, whichever comes first, and begins anew after it has yielded', async () => {
  const clock = new ManualClock();
  const slice = new TimeSlice(clock, new AbortController().signal, 3);
  expect([slice.step(), slice.step(), slice.step()]).toEqual([false, false, true]);
  const yielded = slice.yield();
  await clock.advance(0);
  await yielded;
  expect(slice.step()).toBe(false);
  await clock.advance(10);
  expect(slice.step()).toBe(true);
});
