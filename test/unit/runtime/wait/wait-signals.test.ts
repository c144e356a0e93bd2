import { beforeEach, expect, it, vi } from 'vitest';
import { untilAborted } from '../../../../src/runtime/wait/wait.ts';

/** Listeners that were neither called nor removed. */
const open = vi.hoisted(() => ({ waits: 0 }));
vi.mock('../../../../src/ports/on-abort.ts', async (load) => {
  const { onAbort } = await load<{ onAbort: (signal: AbortSignal, act: () => void) => () => void }>();
  return {
    onAbort: (signal: AbortSignal, act: () => void) => {
      open.waits += 1;
      const forget = onAbort(signal, act);
      return () => {
        open.waits -= 1;
        forget();
      };
    },
  };
});

beforeEach(() => {
  open.waits = 0;
});

it('ends at once when one of the signals is aborted already', async () => {
  await untilAborted(new AbortController().signal, AbortSignal.abort());
  expect(open.waits).toBe(0);
});

it('ends with the first signal, and leaves nothing with the one that lives on, however many waited', async () => {
  const long = new AbortController();
  for (let round = 0; round < 50; round++) {
    const short = new AbortController();
    const waits = untilAborted(long.signal, short.signal);
    expect(open.waits).toBe(2);
    short.abort();
    await waits;
  }
  expect(open.waits).toBe(0);
});

it('waits until one is aborted', async () => {
  const controller = new AbortController();
  let over = false;
  const waits = untilAborted(controller.signal).then(() => (over = true));
  await Promise.resolve();
  expect(over).toBe(false);
  controller.abort();
  await waits;
  expect(over).toBe(true);
});
