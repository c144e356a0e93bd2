import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { onAbort } from '../../../src/ports/on-abort.ts';

test('any number of waiters are one listener, and each is called once unless it was cancelled', () => {
  const controller = new AbortController();
  const calls: number[] = [];
  const cancel = Array.from({ length: 100 }, (_, n) => onAbort(controller.signal, () => calls.push(n)));
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  for (const [n, forget] of cancel.entries()) if (n % 2 === 1) forget();
  controller.abort();
  expect(calls).toEqual(Array.from({ length: 50 }, (_, n) => 2 * n));
  controller.abort();
  expect(calls).toHaveLength(50);
});

test('the same function may wait twice', () => {
  const controller = new AbortController();
  let calls = 0;
  const act = (): void => void (calls += 1);
  const forget = onAbort(controller.signal, act);
  onAbort(controller.signal, act);
  forget();
  controller.abort();
  expect(calls).toBe(1);
});
