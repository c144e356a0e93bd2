import { expect, it } from 'vitest';
import type { Term } from '../../../../schedulers/state/state.ts';
import type { DeciderParts } from '../../../../schedulers/decide/decide.ts';
import { Decider } from '../../../../schedulers/decide/decide.ts';
import { OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import { Placer } from '../../../../schedulers/decide/placer.ts';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { amounts, makeHost } from '../../core/placement/placement-fixtures.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { compileOptions } from '../../../../schedulers/policies/options.ts';
import { makeJob } from '../cell-world.ts';

/** A job of two, of which a host runs the first without a record: another claim holds its capacity. */
function partlyUnrecorded(): OwnedJob {
  const spec = makeJob('web', { type: 'service' }, { count: 2, distinct: ['id'] });
  const job = new OwnedJob({ job: spec, version: 1, desired: 'run', submittedAtMs: 1 }, 1, 1);
  const allocation: Allocation = {
    ...{ id: 'a', host: 'h1', precedence: 50, resources: amounts(100, 64), gpus: [], ports: {} },
    ...{ namespace: 'default', job: 'web', jobVersion: 1, group: 'web', index: 0, attempt: 1 },
    ...{ scheduler: 'batch-1', desired: 'run', planId: 'p', createdAtMs: 7 },
    epoch: { incarnation: 'now', counter: 0 },
  };
  job.unrecorded = [{ allocation, report: null }];
  return job;
}

it('I53 an unrecorded allocation fills its slot, and its host counts for `distinct`', () => {
  const state = new CellState(() => undefined);
  for (const id of ['h1', 'h2']) {
    state.setHost(makeHost(id));
    state.setAlive(id, true);
  }
  const term = {
    cell: { state, condition: () => ({ state: 'ready', drainDeadlineMs: null }) },
    pauses: { on: () => null, onHost: () => null, endedAtMs: () => 0 },
    options: compileOptions({ id: 'batch-1', kind: 'batch' }),
    world: { random: seededRandom(1), clock: new ManualClock() },
  } as unknown as Term;
  const job = partlyUnrecorded();
  // It says what should change and begins none of it, so it needs no other part.
  const evaluation = new Decider(term, {} as DeciderParts).evaluationOf(job, 0);
  // Only the second slot is open, the unrecorded allocation is not stopped, and the job is not finished.
  expect(evaluation.fills.map(({ index }) => index)).toEqual([1]);
  expect([evaluation.stops, evaluation.finished]).toEqual([[], null]);
  const group = job.record.job.groups['web'];
  if (group === undefined) throw new Error('makeJob makes a group of its name');
  expect(new Placer(term).heldForDistinct(job, group)).toEqual([state.known('h1')]);
});

it('I22 decides nothing while it is written that slots are unplaceable: they would be filled by an attempt of the same number', () => {
  const spec = makeJob('web', { type: 'service' }, { count: 2 });
  const job = new OwnedJob({ job: spec, version: 1, desired: 'run', submittedAtMs: 1 }, 1, 1);
  job.failing = true;
  // Whatever it asked of these would throw.
  const decider = new Decider({} as Term, {} as DeciderParts);
  expect(decider.decide(job)).toEqual({ placed: 0, more: false, plans: [] });
  job.failing = false;
  expect(() => decider.decide(job)).toThrow();
});
