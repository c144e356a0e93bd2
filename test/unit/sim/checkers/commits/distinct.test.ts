import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { allocationCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;

beforeEach(() => {
  run = new HandRun();
  job = run.job('apart', { count: 3, distinct: ['host'] });
  run.submit(job);
});

function on(host: string, index: number): Allocation {
  const one = run.allocation(job, { host, index });
  run.commit(true, one);
  return one;
}

const broken = (): string[] => run.broken({ liveness: null, least: {} });

describe('what distinct forbids', () => {
  it('one a host is no more', () => {
    on('host-1', 0);
    on('host-2', 1);
    expect(broken()).toEqual([]);
  });

  it('distinct a second one is committed to the same host', () => {
    on('host-1', 0);
    on('host-1', 1);
    expect(broken()).toEqual(['distinct']);
  });

  it('one that is to stop counts no more, unless it is to go on after all', () => {
    const first = on('host-1', 0);
    run.mark(first, 'evict');
    on('host-1', 1);
    expect(broken()).not.toContain('distinct');
    const key = KEYS.allocation(first.namespace, first.job, first.id);
    run.put('batch-1', key, allocationCodec.encode(first), 'same');
    expect(broken()).toContain('distinct');
  });

  it('other jobs and groups without distinct may share', () => {
    on('host-1', 0);
    const other = run.job('other', { count: 2 });
    run.submit(other);
    for (const index of [0, 1]) run.commit(true, run.allocation(other, { index }));
    expect(broken()).toEqual([]);
  });
});
