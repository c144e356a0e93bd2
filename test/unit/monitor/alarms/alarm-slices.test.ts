import { expect, it } from 'vitest';
import type { AlarmDeps } from '../../../../monitor/alarms/alarms.ts';
import { AlarmWatch } from '../../../../monitor/alarms/alarms.ts';
import type { Clock } from '../../../../src/ports/clock.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const JOBS = 20;
/** To sum up one job of some hundred allocations. */
const SUM_MS = 30;

it('S3.47 requests have their turn between two large jobs that are summed up for alarms', async () => {
  const clock = new ManualClock();
  let spentMs = 0;
  let turns = 0;
  const busy: Clock = {
    nowMs: () => clock.nowMs() + spentMs,
    monotonicMs: () => clock.monotonicMs() + spentMs,
    after: (delayMs, wake) => {
      if (delayMs === 0) turns += 1;
      return clock.after(delayMs, wake);
    },
  };
  const names = Array.from({ length: JOBS }, (_, n) => `services/web-${String(n)}`);
  const deps = {
    ...{ clock: busy, copy: { jobs: { names: () => names.values() } }, afterMs: 1 },
    statuses: {
      isQuiet: () => false,
      summary: () => {
        spentMs += SUM_MS;
        return null;
      },
    },
    clocks: { conditions: () => [] },
    ...{ keeper: () => null, metrics: { gauge: () => undefined } },
  };
  const watch = new AlarmWatch(deps as unknown as AlarmDeps);
  const checked = watch.check();
  await clock.advance(0);
  await checked;
  expect(spentMs).toBe(JOBS * SUM_MS);
  expect(turns).toBeGreaterThanOrEqual(JOBS - 1);
  await watch.close();
});
