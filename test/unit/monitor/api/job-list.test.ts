import { expect, it } from 'vitest';
import { jobRoutes } from '../../../../monitor/api/job-routes.ts';
import type { MonitorState } from '../../../../monitor/api/monitor-state.ts';
import { BusyClock } from '../../../support/busy-clock.ts';

const JOBS = 20;
/** To sum up one job of some hundred allocations. */
const SUM_MS = 30;

it('requests have their turn between two large jobs that are summed up for a list', async () => {
  const clock = new BusyClock();
  const names = Array.from({ length: JOBS }, (_, n) => `services/web-${String(n).padStart(2, '0')}`);
  const summary = (jobKey: string): { readonly name: string } => {
    clock.spend(SUM_MS);
    return { name: jobKey };
  };
  const state = {
    ...{ clock, copy: { jobs: { names: () => names.values() } } },
    ...{ statuses: { summary }, follower: { view: { complete: true } } },
  };
  const route = jobRoutes(state as unknown as MonitorState).find(
    ({ method, path }) => method === 'GET' && path === '/v1/jobs',
  );
  const signal = new AbortController().signal;
  const asked = { params: {}, query: {}, headers: {}, body: undefined, peer: null, signal };
  const answered = route?.handle(asked);
  await clock.manual.advance(0);
  expect((await answered)?.body).toEqual({ jobs: names.map((name) => ({ name })), incomplete: false });
  expect(clock.turns).toBeGreaterThanOrEqual(JOBS - 1);
});
