import type { WorldOptions } from '../world/options.ts';
import type { Scenario } from '../world/scenario.ts';
import type { Request } from '../actor/client.ts';

/** Small, and every role once: only its own next life replaces a role that is killed. */
const CELL: Scenario = {
  ...{ hosts: 2, schedulers: ['batch', 'service'], monitors: 1, arbiters: 1, enforcement: true },
  ...{ hostCpuMilli: 2_000, hostMemoryMib: 4_096, jobs: 0, activeMs: 6_000, quietMs: 52_000 },
  restartDelayMaxMs: null,
  gangMax: 3,
  // Enough for two of the list at a time.
  shared: [{ name: 'power', unit: 'W', by: null, capacity: 250, capacities: {} }],
  // Part of the work lies in the quiet period, and where each crash would leave it is what is compared.
  quietLeastMs: 52_000,
  // All that is requested below: a killed role may delay it, and nothing of it may be lost.
  least: { acknowledged: 7, committed: 12, started: 12, ended: 8, finalViews: 1 },
};

/** Long enough that a life after it differs from one that was never interrupted, shorter than a session. */
export const DOWN_MS = 700;

const PLACING = { priority: 50, resources: { cpu: '100m', memory: '64Mi' } };
const STOP = { signal: 'SIGTERM', grace: '500ms' };

/** Fails for good at the first failure. */
const ONCE = { restart: { attempts: 0 }, reschedule: { attempts: 0 } };

function job(
  name: string,
  type: 'batch' | 'service',
  runMs: number,
  more: object,
  exitCode = 0,
): Request['file'] {
  const env = { SIM_RUN_MS: String(runMs), SIM_EXIT_CODE: String(exitCode) };
  return { name, type, ...PLACING, count: 1, command: ['work'], env, stop: STOP, ...more };
}

/** Later than a dead scheduler's session ends and another one has placed: so it always stops what runs. */
const STOP_AFTER_MS = 20_000;

/** One of everything: runs that succeed and fail, lists, gangs by one transaction and by intent, services with ports, one of them stopped. */
const REQUESTS: readonly Request[] = [
  {
    atMs: 300,
    kind: 'submit',
    name: 'kept',
    file: job('kept', 'service', 0, { count: 2 }),
    stopAfterMs: null,
  },
  { atMs: 500, kind: 'run', name: 'good', file: job('good', 'batch', 400, {}), stopAfterMs: null },
  {
    atMs: 700,
    kind: 'submit',
    name: 'list',
    file: job('list', 'batch', 600, {
      count: 3,
      resources: { ...PLACING.resources, shared: { power: 100 } },
    }),
    stopAfterMs: null,
  },
  {
    ...{ atMs: 900, kind: 'submit', name: 'stopped', stopAfterMs: STOP_AFTER_MS },
    file: job('stopped', 'service', 0, { count: 2, ports: { http: 'auto' } }),
  },
  { atMs: 1_200, kind: 'run', name: 'bad', file: job('bad', 'batch', 300, ONCE, 7), stopAfterMs: null },
  {
    ...{ atMs: 1_500, kind: 'submit', name: 'gang', stopAfterMs: null },
    file: job('gang', 'batch', 500, { count: 3, gang: true, waitMax: '60s' }),
  },
  {
    ...{ atMs: 1_700, kind: 'submit', name: 'large-gang', stopAfterMs: null },
    file: job('large-gang', 'batch', 500, { count: 4, gang: true, waitMax: '60s' }),
  },
];

export const SWEEP: WorldOptions = { seed: 5, scenario: CELL, faults: {}, requests: REQUESTS };

/** When there is work: the rest of the events are signs of life. */
export function isWorkTime(atMs: number): boolean {
  return atMs < 5_000 || (atMs > STOP_AFTER_MS + 700 && atMs < STOP_AFTER_MS + 3_000);
}
