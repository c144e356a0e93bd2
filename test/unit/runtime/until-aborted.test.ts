import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { untilAborted } from '../../../src/runtime/until-aborted.ts';

it('ends at once when one of the signals is aborted already', async () => {
  await untilAborted(new AbortController().signal, AbortSignal.abort());
});

it('ends with the first signal, and the one that lives on has one listener however many waited', async () => {
  const long = new AbortController();
  for (let round = 0; round < 50; round++) {
    const short = new AbortController();
    const waits = untilAborted(long.signal, short.signal);
    short.abort();
    await waits;
  }
  expect(getEventListeners(long.signal, 'abort').length).toBe(1);
});

it('goes on waiting until one is aborted', async () => {
  const controller = new AbortController();
  let over = false;
  const waits = untilAborted(controller.signal).then(() => (over = true));
  await Promise.resolve();
  expect(over).toBe(false);
  controller.abort();
  await waits;
  expect(over).toBe(true);
});
