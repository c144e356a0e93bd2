import { beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../../../../../src/core/cell/job.ts';
import type { RolloutRecord } from '../../../../../src/core/cell/rollout.ts';
import { jobCodec, rolloutCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;

/** The second version of a service, submitted before the last fault; then much time passes. */
function update(
  changes: Readonly<Record<string, unknown>>,
  known: Partial<RolloutRecord> | null,
  wish: object = {},
): readonly string[] {
  run = new HandRun();
  const policy = { progressDeadline: '5s', healthyDeadline: '5s', ...changes };
  job = run.job('web', { type: 'service', update: policy });
  run.submit(job, 'service-1');
  const record = jobCodec.encode({ job, version: 2, desired: 'run', submittedAtMs: run.nowMs, ...wish });
  run.put('monitor-1', KEYS.job('default', 'web'), record, 'same');
  if (known !== null) {
    const value = rolloutCodec.encode({ version: 2, state: 'updating', sinceMs: 0, reason: '', ...known });
    run.put('service-1', KEYS.rollout('default', 'web'), value, 'same');
  }
  run.quiet();
  run.nowMs += 60_000;
  run.finish();
  return run.broken();
}

describe('I70 an update', () => {
  let broken: (...call: Parameters<typeof update>) => boolean;
  beforeEach(() => {
    broken = (...call) => update(...call).includes('I70');
  });

  it('that is neither done nor failed long after its deadlines', () => {
    expect(broken({}, { state: 'updating' })).toBe(true);
    expect(broken({}, { version: 1, state: 'done' })).toBe(true);
    expect(broken({}, null)).toBe(true);
  });

  it('that is done, has failed, or is not due yet', () => {
    expect(broken({}, { state: 'done' })).toBe(false);
    expect(broken({}, { state: 'failed', good: 1 })).toBe(false);
    expect(broken({ progressDeadline: '10m' }, null)).toBe(false);
  });

  it('that waits for somebody', () => {
    expect(broken({ canary: 1 }, null)).toBe(false);
    expect(broken({ canary: 1 }, null, { rollout: { promoted: true, atMs: 0 } })).toBe(true);
    expect(broken({}, null, { rollout: { paused: true, atMs: 0 } })).toBe(false);
  });

  it('that failed and is not undone though its job asks for it', () => {
    expect(broken({ autoRevert: true }, { state: 'failed', good: 1 })).toBe(true);
    expect(broken({ autoRevert: true }, { state: 'failed' })).toBe(false);
  });
});
