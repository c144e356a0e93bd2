import { describe, expect, it } from 'vitest';
import { readMovesRequest, readSchedulerPlanRequest } from '../../../../src/wire/plan/plan-requests.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';

const ID = '01k0000000aaaaaaaaaaaaaaaa';
const OTHER = '01k0000000bbbbbbbbbbbbbbbb';

const claimOf = (id: string, host: string) => ({
  ...{ id, host, precedence: 50, resources: NO_RESOURCES, gpus: [], ports: {} },
});

const planWith = (...placed: readonly unknown[]) => ({
  cell: { hostsLost: [], hostsAdded: [], placed, freed: [] },
  ...{ evicted: [], affected: true },
});

function problemOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    if (error instanceof ProblemError) return error.problem;
    throw error;
  }
  return null;
}

describe('what would be planned names each allocation once', () => {
  it('S4.13 of those that other schedulers would place', () => {
    const plan = (id: string) => () =>
      readSchedulerPlanRequest(planWith(claimOf(ID, 'h1'), claimOf(id, 'h1')));
    expect(problemOf(plan(OTHER))).toBeNull();
    const wrong = { status: 400, path: 'cell.placed.1', detail: `${ID} is placed twice` };
    expect(problemOf(plan(ID))).toMatchObject(wrong);
  });

  it('S4.13 of those that are to be moved', () => {
    const moves = [ID, OTHER, ID].map((allocation) => ({ allocation }));
    const wrong = { status: 400, path: 'moves.2', detail: `${ID} is moved twice` };
    expect(problemOf(() => readMovesRequest({ moves, reason: 'room' }))).toMatchObject(wrong);
  });
});
