import { expect, it } from 'vitest';
import { rolloutStateOf } from '../../../../page/figures/rollout-state.ts';
import type { JobStatus } from '../../../../src/wire/api/monitor-api.ts';
import { jobOf } from '../../../support/monitor-world.ts';

const status = (
  rollout: JobStatus['rollout'],
  more: { readonly canary?: number; readonly promoted?: true } = {},
): JobStatus =>
  ({
    summary: { version: 3, counts: { desired: 4 } },
    record: {
      job: jobOf({
        name: 'web',
        type: 'service',
        update: more.canary === undefined ? {} : { canary: more.canary },
      }),
      rollout: more.promoted === undefined ? undefined : { promoted: true, atMs: 1 },
    },
    rollout,
  }) as never;
const record = (state: 'updating' | 'done' | 'failed', version = 3) => ({
  ...{ version, state, sinceMs: 1, reason: '' },
});

it.each([
  ['updating', { record: record('updating'), paused: false, outdated: 3 }, 1],
  ['paused', { record: record('updating'), paused: true, outdated: 4 }, 0],
  ['failed', { record: record('failed'), paused: false, outdated: 2 }, 2],
  ['done', { record: record('done'), paused: false, outdated: 0 }, 4],
  // What is recorded is of an earlier version.
  ['updating', { record: record('done', 2), paused: false, outdated: 5 }, 0],
  ['as submitted', { record: null, paused: false, outdated: 0 }, 4],
] as const)('28 an update is %s', (word, rollout, replaced) => {
  expect(rolloutStateOf(status(rollout))).toMatchObject({ word, replaced, wanted: 4 });
});

it('28 canaries are promoted once, and only where there are some', () => {
  const rollout = { record: record('updating'), paused: false, outdated: 3 };
  expect(rolloutStateOf(status(rollout)).mayPromote).toBe(false);
  expect(rolloutStateOf(status(rollout, { canary: 1 })).mayPromote).toBe(true);
  expect(rolloutStateOf(status(rollout, { canary: 1, promoted: true })).mayPromote).toBe(false);
  expect(rolloutStateOf(status({ ...rollout, record: null, outdated: 0 }, { canary: 1 })).mayPromote).toBe(
    false,
  );
});
