import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { poolCodec, sharedResourceCodec } from '../../../../../src/wire/records/records.ts';
import type { SavedStore } from '../../../../support/hand-store.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;
let one: Allocation;
let before: SavedStore;

beforeEach(() => {
  run = new HandRun();
  job = run.job('crunch');
  run.submit(job);
  one = run.allocation(job);
  before = run.save();
});

/** The store comes back as it was before the allocation, at a revision that comes twice. */
function loseRecord(to?: null): void {
  run.restore(before, to);
}

function broken(): string[] {
  run.quiet();
  run.finish();
  return run.broken({ least: {}, liveness: null });
}

describe('I53 I54 a store that is lost or restored', () => {
  it('lets what ran come back under its own id', () => {
    run.launch(one, job);
    loseRecord();
    run.commit(true, one);
    expect(broken()).toEqual([]);
  });

  it('I54 a task that runs, and of which the restored store does not learn', () => {
    run.launch(one, job);
    loseRecord();
    expect(broken()).toEqual(['I54']);
  });

  it('I53 the same when all was lost', () => {
    run.launch(one, job);
    loseRecord(null);
    expect(broken()).toEqual(['I53']);
  });

  for (const [used, isFound] of [
    [6, false],
    [5, true],
  ] as const)
    it(`I54 ${isFound ? '' : 'not '}a task whose pool has ${isFound ? '' : 'no '}capacity for it`, () => {
      one = { ...one, shared: { 'power/cell': 5 } };
      run.launch(one, job);
      loseRecord();
      const power = { name: 'power', unit: 'W', by: null, capacity: 10, capacities: {} };
      run.write(
        null,
        [
          { kind: 'put', key: KEYS.sharedResource('power'), value: sharedResourceCodec.encode(power) },
          { kind: 'put', key: KEYS.pool('power/cell'), value: poolCodec.encode({ used }) },
        ],
        [],
      );
      // Other allocations of the pool are not written here, which the checker of pools finds.
      expect(broken().includes('I54')).toBe(isFound);
    });

  it('I54 a task that had come to its end, and runs again', () => {
    run.end(one, run.launch(one, job));
    loseRecord();
    run.launch(run.allocation(job, { attempt: 2 }), job);
    expect(broken()).toEqual(['I54']);
  });
});
