import { expect, test } from 'vitest';
import type { LogFields } from '../../../../src/ports/telemetry.ts';
import { Outage } from '../../../../src/runtime/wait/outage.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

test('a line when it begins, one every half a minute, one when it is over: what, since when, the next try', async () => {
  const clock = new ManualClock();
  const lines: [string, LogFields][] = [];
  const keep = (fields: LogFields, message: string): void => void lines.push([message, fields]);
  const outage = new Outage({ clock, log: { ...silentLog, warn: keep, info: keep } }, 'cannot register');
  outage.over();
  const since = new Date(clock.nowMs()).toISOString();
  const error = new Error('away');
  for (let second = 0; second < 70; second++) {
    outage.failed(error, 1_000);
    await clock.advance(1_000);
  }
  outage.over();
  outage.over();
  const nextTry = new Date(Date.parse(since) + 1_000).toISOString();
  expect(lines[0]).toEqual(['cannot register', { since, tries: 1, nextTry, error }]);
  expect(lines.map(([message, fields]) => [message, fields['tries'], fields['since']])).toEqual([
    ['cannot register', 1, since],
    ['cannot register', 31, since],
    ['cannot register', 61, since],
    ['over: cannot register', 70, since],
  ]);
  outage.failed(error, 5);
  expect(lines).toHaveLength(5);
  expect(lines[4]?.[1]['since']).not.toBe(since);
});
