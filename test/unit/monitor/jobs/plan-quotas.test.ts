import { describe, expect, it } from 'vitest';
import type { PlannedCell } from '../../../../monitor/jobs/plan-quotas.ts';
import { quotasOver } from '../../../../monitor/jobs/plan-quotas.ts';
import type { JobRecord } from '../../../../src/core/cell/job.ts';
import type { JobPlan, PlanAct } from '../../../../src/wire/plan/plan.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { testAllocation } from '../../../support/commit-world.ts';

const LIMITS = { cpuMilli: 1_000, memoryMib: null, gpuMilli: null, allocations: 4 };
const there = testAllocation('old', 'h1', { namespace: 'team', job: 'web', group: 'web' });

function cellOf(cpuUsedMilli: number, allocations: number): PlannedCell {
  const reading = parseJobObject({
    ...{ name: 'web', namespace: 'team', command: ['serve'], resources: { cpu: '300m', memory: '64Mi' } },
  });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const record: JobRecord = { job: reading.job, version: 2, desired: 'run', submittedAtMs: 0 };
  const used = { cpuMilli: cpuUsedMilli, memoryMib: 0, gpuMilli: 0, allocations };
  return {
    quotas: [{ namespace: 'team', ...LIMITS, used, isReadable: true }],
    allocation: (_, __, id) => (id === there.id ? there : undefined),
    record: () => record,
  };
}

const act = (kind: PlanAct['act'], slot: string, allocation?: string): PlanAct => ({
  ...{ act: kind, namespace: 'team', job: 'web', slot, host: 'h1' },
  ...(allocation === undefined ? {} : { allocation }),
});

const planOf = (...acts: readonly PlanAct[]): readonly JobPlan[] => [
  { namespace: 'team', job: 'web', version: 2, scheduler: 's', acts, actsLeftOut: 0, waits: [] },
];

describe('what a plan takes of quotas', () => {
  it('is told where it is more than the quota, with the most that is in use at one time', () => {
    const plan = planOf(act('start', 'web[1]'), act('start', 'web[2]'), act('stop', 'web[0]', there.id));
    const over = { namespace: 'team', dimension: 'cpuMilli', limit: 1_000, used: 500 };
    expect(quotasOver(plan, cellOf(500, 1))).toEqual([{ ...over, wanted: 1_100 }]);
    expect(quotasOver(plan, cellOf(400, 1))).toEqual([]);
  });

  it('what stops first makes room, once', () => {
    const stop = act('stop', 'web[0]', there.id);
    const plan = planOf(stop, act('preempt', 'web[0]', there.id), act('start', 'web[0]'));
    const { cpuMilli } = there.resources;
    expect(quotasOver(plan, cellOf(700 + cpuMilli, 4))).toEqual([]);
    expect(quotasOver(plan, cellOf(701 + cpuMilli, 4))).toMatchObject([{ wanted: 1_001 }]);
  });

  it('a quota that is used up beyond its limit already is no fault of the plan', () => {
    expect(quotasOver(planOf(act('stop', 'web[0]', there.id)), cellOf(5_000, 9))).toEqual([]);
    expect(quotasOver(planOf(act('start', 'web[1]')), cellOf(0, 4))).toMatchObject([
      { dimension: 'allocations', limit: 4, used: 4, wanted: 5 },
    ]);
  });
});
