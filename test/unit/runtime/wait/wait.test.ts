import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { sleep, withDeadline } from '../../../../src/runtime/wait/wait.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('any number of waits hang on one signal by one listener, and end with it', async () => {
  const clock = new ManualClock();
  const over = new AbortController();
  const waits = Array.from({ length: 30 }, () => sleep(clock, 1_000, over.signal));
  expect(getEventListeners(over.signal, 'abort')).toHaveLength(1);
  over.abort();
  await Promise.all(waits);
});

it('a deadline ends with its time or its caller, and when it is done hangs on neither', async () => {
  const clock = new ManualClock();
  const late = withDeadline(clock, 1_000, new AbortController().signal);
  await clock.advance(1_000);
  expect(late.signal.aborted).toBe(true);
  const caller = new AbortController();
  const left = withDeadline(clock, 1_000, caller.signal);
  const done = withDeadline(clock, 1_000, caller.signal);
  let ended = false;
  done.signal.addEventListener('abort', () => (ended = true));
  done.done();
  expect(ended, 'what waits for the time waits no longer').toBe(true);
  caller.abort();
  expect(left.signal.aborted).toBe(true);
  left.done();
  expect(clock.pending).toBe(0);
  expect(withDeadline(clock, 1_000, caller.signal).signal.aborted).toBe(true);
});

it('nothing is left of deadlines that were in time, though somebody listened to them', async () => {
  const caller = new AbortController();
  const clock = new ManualClock();
  const signals = Array.from({ length: 100 }, () => {
    const deadline = withDeadline(clock, 1_000, caller.signal);
    deadline.signal.addEventListener('abort', () => undefined);
    deadline.done();
    return new WeakRef(deadline.signal);
  });
  // A weak reference holds its target until the end of the turn in which it was made.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(signals.filter((signal) => signal.deref() !== undefined).length).toBeLessThan(10);
});
