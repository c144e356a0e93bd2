import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import { SURPLUS_PRECEDENCE } from '../../../../../src/core/cell/claim.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { CAUSES } from '../../../../../src/core/slots/job-view.ts';
import { allocationCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;

beforeEach(() => {
  run = new HandRun();
  job = run.job('map', { count: { min: 2, max: 4 }, scheduler: 'batch' });
  run.submit(job);
});

function placed(index: number, precedence: number, more: Partial<Allocation> = {}): Allocation {
  const one = run.allocation(job, { index, precedence, ...more });
  run.commit(true, one);
  return one;
}

function scaledDown(one: Allocation): void {
  const marked: Allocation = { ...one, desired: 'remove', cause: CAUSES.scaledDown };
  const key = KEYS.allocation(one.namespace, one.job, one.id);
  run.put(one.scheduler, key, allocationCodec.encode(marked), 'same');
}

const broken = (): string[] => run.broken({ liveness: null, least: {} });

describe('what an elastic job has above its minimum', () => {
  it('I71 comes below every precedence and goes when it is scaled down, and the minimum is firm', () => {
    for (const index of [0, 1]) placed(index, 50);
    for (const index of [2, 3]) scaledDown(placed(index, SURPLUS_PRECEDENCE));
    expect(broken()).toEqual([]);
  });

  it('I71 placed at the precedence of its job it gives way to few', () => {
    placed(2, 50);
    expect(broken()).toEqual(['I71']);
  });

  it.each([
    ['in a slot of the minimum', 1],
    ['beyond the maximum', 4],
  ])('I71 %s it is none', (_, index) => {
    placed(index, SURPLUS_PRECEDENCE);
    expect(broken()).toEqual(['I71']);
  });

  it('I71 it preempts nobody', () => {
    placed(2, SURPLUS_PRECEDENCE, { evicts: ['other'] });
    expect(broken()).toContain('I71');
  });

  it('I71 a minimum that is scaled down is told', () => {
    scaledDown(placed(1, 50));
    expect(broken()).toContain('I71');
  });
});
