import { expect, it } from 'vitest';
import type { AlarmDeps } from '../../../../monitor/alarms/alarms.ts';
import { AlarmWatch } from '../../../../monitor/alarms/alarms.ts';
import { BusyClock } from '../../../support/busy-clock.ts';

const JOBS = 20;
/** To sum up one job of some hundred allocations. */
const SUM_MS = 30;

it('requests have their turn between two large jobs that are summed up for alarms', async () => {
  const clock = new BusyClock();
  const names = Array.from({ length: JOBS }, (_, n) => `services/web-${String(n)}`);
  const summary = (): null => {
    clock.spend(SUM_MS);
    return null;
  };
  const deps = {
    ...{ clock, copy: { jobs: { names: () => names.values() }, unreadable: () => [] }, afterMs: 1 },
    statuses: { isQuiet: () => false, summary },
    clocks: { conditions: () => [] },
    ...{ keeper: () => null, metrics: { gauge: () => undefined } },
  };
  const watch = new AlarmWatch(deps as unknown as AlarmDeps);
  const checked = watch.check();
  await clock.manual.advance(0);
  await checked;
  expect(clock.spentMs).toBe(JOBS * SUM_MS);
  expect(clock.turns).toBeGreaterThanOrEqual(JOBS - 1);
  await watch.close();
});
