import { expect, it } from 'vitest';
import { readingFirst } from '../../../../src/adapters/etcd/reading-first.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

it('what is due at the same time as a conclusion from silence comes before it', async () => {
  const clock = new ManualClock();
  const order: string[] = [];
  readingFirst(clock).after(100, () => order.push('concluded'));
  clock.after(100, () => order.push('read'));
  await clock.advance(100);
  expect(order).toEqual(['read', 'concluded']);
});

it('is cancelled before its time, and while it waits for what is read', async () => {
  const clock = new ManualClock();
  const order: string[] = [];
  const cancels = [1, 2].map((n) =>
    readingFirst(clock).after(100, () => order.push(`concluded ${String(n)}`)),
  );
  cancels[0]?.();
  clock.after(100, () => cancels[1]?.());
  await clock.advance(1_000);
  expect(order).toEqual([]);
  expect(clock.pending).toBe(0);
});
