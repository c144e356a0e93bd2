import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import type { VolumeUse } from '../../../../../src/core/cell/volume.ts';
import type { Started } from '../../../../support/hand-run.ts';
import { HandRun } from '../../../../support/hand-run.ts';

const DATA = { name: 'data', claim: 'pg', id: 'd1', access: 'exclusive', onLoss: 'keep' } as const;

let run: HandRun;
let job: Job;

beforeEach(() => {
  run = new HandRun();
  job = run.job('db', { count: 2 });
  run.submit(job);
});

const told = (): string[] =>
  run.broken({ liveness: null, least: {}, enforcement: false }).filter((name) => name === 'I73');

function running(index: number, data: Partial<VolumeUse>): readonly [Allocation, Started] {
  const place = { index, host: `host-${String(index + 1)}`, volumes: [{ ...DATA, ...data }] };
  const allocation = run.allocation(job, place);
  run.commit(true, allocation);
  return [allocation, run.begin(allocation)];
}

describe('data', () => {
  it('I73 of two allocations that run at once is told', () => {
    running(0, {});
    running(1, {});
    expect(told()).toEqual(['I73']);
  });

  it.each([
    ['shared', { access: 'shared' }],
    ['other data of the same claim', { id: 'd2' }],
  ] as const)('I73 %s is not', (_, data) => {
    running(0, 'access' in data ? data : {});
    running(1, data);
    expect(told()).toEqual([]);
  });

  it('I73 nor that of one which ended before', () => {
    run.end(...running(0, {}));
    running(1, {});
    expect(told()).toEqual([]);
  });
});
