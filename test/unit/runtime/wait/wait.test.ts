import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { sleep } from '../../../../src/runtime/wait/wait.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

it('any number of waits hang on one signal by one listener, and end with it', async () => {
  const clock = new ManualClock();
  const over = new AbortController();
  const waits = Array.from({ length: 30 }, () => sleep(clock, 1_000, over.signal));
  expect(getEventListeners(over.signal, 'abort')).toHaveLength(1);
  over.abort();
  await Promise.all(waits);
});
