import { expect, test } from 'vitest';
import { HostEvents } from '../../../../monitor/events/host-events.ts';
import type { LazyEvent } from '../../../../monitor/events/events.ts';
import type { HostChange } from '../../../../src/runtime/reports/cell-view.ts';
import type { CellEvent } from '../../../../src/wire/api/monitor-api.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

test('a host is an event when it falls silent and when it reports again, not at its first report', () => {
  const seen: (CellEvent | LazyEvent | null)[] = [];
  const events = new HostEvents('monitor-1', new ManualClock(), (event) => seen.push(event));
  const freshness = { host: 'h1', incarnation: 1, seq: 1, asOfMs: 1, staleSinceMs: null, allocations: 0 };
  for (const what of [
    'silent',
    'reporting',
    'reporting',
    'silent',
    'reporting',
    'left',
    'silent',
  ] as HostChange[])
    events.host(freshness, what);
  events.heldBack(3);
  events.heldBack(0);
  expect(seen.map((event) => event !== null && 'kind' in event && event.kind)).toEqual([
    ...['host-heard', 'host-silent', 'host-heard'],
    ...['verdicts-held-back', 'verdicts-resumed'],
  ]);
  const ids = seen.map((event) => event !== null && 'id' in event && event.id);
  expect(new Set(ids).size).toBe(seen.length);
});
