import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { onAbort } from '../../../src/ports/on-abort.ts';

test('any number of waiters are one listener, and each is told once unless it left', () => {
  const controller = new AbortController();
  const told: number[] = [];
  const leave = Array.from({ length: 100 }, (_, n) => onAbort(controller.signal, () => told.push(n)));
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  for (const [n, forget] of leave.entries()) if (n % 2 === 1) forget();
  controller.abort();
  expect(told).toEqual(Array.from({ length: 50 }, (_, n) => 2 * n));
  controller.abort();
  expect(told).toHaveLength(50);
});

test('the same function may wait twice', () => {
  const controller = new AbortController();
  let told = 0;
  const act = (): void => void (told += 1);
  const forget = onAbort(controller.signal, act);
  onAbort(controller.signal, act);
  forget();
  controller.abort();
  expect(told).toBe(1);
});
