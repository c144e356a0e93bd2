import { expect, test } from 'vitest';
import { HostEvents } from '../../../../monitor/events/host-events.ts';
import type { LazyEvent } from '../../../../monitor/events/events.ts';
import type { HostChange } from '../../../../src/runtime/reports/cell-view.ts';
import type { CellEvent } from '../../../../src/wire/api/monitor-api.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

test('a host is news when it falls silent and when it speaks again, not when it is first heard', () => {
  const told: (CellEvent | LazyEvent | null)[] = [];
  const news = new HostEvents('monitor-1', new ManualClock(), (event) => told.push(event));
  const sight = { host: 'h1', incarnation: 1, seq: 1, asOfMs: 1, staleSinceMs: null, allocations: 0 };
  for (const what of [
    'silent',
    'reporting',
    'reporting',
    'silent',
    'reporting',
    'left',
    'silent',
  ] as HostChange[])
    news.host(sight, what);
  news.heldBack(3);
  news.heldBack(0);
  expect(told.map((event) => event !== null && 'kind' in event && event.kind)).toEqual([
    ...['host-heard', 'host-silent', 'host-heard'],
    ...['verdicts-held-back', 'verdicts-resumed'],
  ]);
  const ids = told.map((event) => event !== null && 'id' in event && event.id);
  expect(new Set(ids).size).toBe(told.length);
});
