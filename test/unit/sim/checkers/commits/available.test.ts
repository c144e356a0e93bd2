import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { allocationCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;
let all: readonly Allocation[];

/** Three that run for a while, and the next version. */
function running(update: Readonly<Record<string, unknown>>): void {
  run = new HandRun();
  job = run.job('web', { type: 'service', count: 3, update });
  run.submit(job, 'service-1');
  all = [0, 1, 2].map((index) => run.allocation(job, { index, scheduler: 'service-1' }));
  for (const one of all) run.launch(one, job);
  run.nowMs += 20_000;
  run.jobRecord({ ...job, labels: { changed: 'yes' } }, 2, 'run');
}

function replace(one: Allocation | undefined, cause = 'replaced by version 2'): void {
  if (one === undefined) throw new Error('there is none');
  const key = KEYS.allocation(one.namespace, one.job, one.id);
  run.put(one.scheduler, key, allocationCodec.encode({ ...one, desired: 'stop', cause }), 'same');
}

const broken = (): readonly string[] => run.broken({ liveness: null, least: {} });

describe('I63 an update that stops something', () => {
  beforeEach(() => running({ parallelism: 1 }));

  it('may stop as many as its parallelism', () => {
    replace(all[0]);
    expect(broken()).not.toContain('I63');
  });

  it('and no second one before the first has a successor that is up', () => {
    replace(all[0]);
    replace(all[1]);
    expect(broken()).toContain('I63');
  });

  it('its user may stop all', () => {
    replace(all[0], 'stopped by user');
    replace(all[1], 'stopped by user');
    expect(broken()).not.toContain('I63');
  });
});

it('I63 with start-first none is stopped before one more is up', () => {
  running({ strategy: 'start-first' });
  replace(all[0]);
  expect(broken()).toContain('I63');
});
