import { describe, expect, it } from 'vitest';
import { isNothing, linesOfPlan, remarksOf } from '../../../../cli/rollouts/plan-text.ts';
import type { JobPlan, PlanAct, PlanAnswer } from '../../../../src/wire/plan/plan.ts';

const OF = { namespace: 'default', job: 'web' };
const start = (slot: string, host: string, from?: string): PlanAct => ({
  ...{ act: 'start', ...OF, slot, host },
  ...(from === undefined ? {} : { from }),
});
const stop = (slot: string, host: string, cause: string): PlanAct => ({
  ...{ act: 'stop', ...OF, slot, host, allocation: 'a', cause },
});
const planOf = (part: Partial<JobPlan>): JobPlan => ({
  ...{ ...OF, version: 2, scheduler: 'service-1', acts: [], actsLeftOut: 0, waits: [] },
  ...part,
});
const answerOf = (part: Partial<PlanAnswer>): PlanAnswer => ({
  ...{ jobs: [], jobsHidden: 0, unanswered: [], isCut: false },
  ...part,
});

describe('the text of a plan', () => {
  it('a slot that stops and starts again is replaced, or moves', () => {
    const acts = [
      ...[stop('web[0]', 'h1', 'replaced by version 2'), start('web[0]', 'h1', 'h1')],
      ...[stop('web[1]', 'h1', 'replaced by version 2'), start('web[1]', 'h2', 'h1')],
      ...[stop('web[2]', 'h3', 'scaled down'), start('web[3]', 'h3')],
    ];
    expect(linesOfPlan(planOf({ acts }))).toEqual([
      'replace web[0] on h1',
      'move web[1] from h1 to h2',
      'stop web[2] on h3: scaled down',
      'start web[3] on h3',
    ]);
  });

  it('what an update starts beyond the count and ends again stands beside the others', () => {
    const acts = [start('web[2]', 'h1'), stop('web[2]', 'h1', 'scaled down')];
    expect(linesOfPlan(planOf({ acts }))).toEqual(['start web[2] on h1 while the update goes on']);
  });

  it('victims are told with their jobs, and without a name where the reader sees none', () => {
    const acts: PlanAct[] = [
      { act: 'preempt', namespace: 'default', job: 'low', slot: 'low[0]', host: 'h1' },
      { act: 'preempt', namespace: '', job: '', slot: 'an allocation of another namespace', host: 'h2' },
    ];
    expect(linesOfPlan(planOf({ acts }))).toEqual([
      'preempt low[0] on h1 of default/low',
      'preempt an allocation of another namespace on h2',
    ]);
  });

  it('what waits is told with its reason, what is lost with its own, and how the job would end', () => {
    const waits = [
      { group: 'web', waiting: 2, waitingBefore: 1, stage: 'parked', detail: 'no host fits' },
      { group: 'api', waiting: 0, waitingBefore: 0, stage: 'updating', detail: 'waits: the canary is up' },
    ];
    const cause = 'not replaced: reschedule.onHostLost is false';
    const acts: PlanAct[] = [{ act: 'stay', ...OF, slot: 'web[0]', host: 'h1', cause }];
    expect(linesOfPlan(planOf({ acts, waits, finished: 'stopped' }))).toEqual([
      `lose web[0] with h1: ${cause}`,
      '2 of group web wait (1 before): no host fits',
      'group api waits: waits: the canary is up',
      'the job ends: stopped',
    ]);
  });

  it('a long plan is cut, and says how much is left', () => {
    const acts = Array.from({ length: 100 }, (_, n) => start(`web[${String(n)}]`, 'h1'));
    const lines = linesOfPlan(planOf({ acts }));
    expect(lines).toHaveLength(41);
    expect(lines.at(-1)).toBe('and 60 more: -o json lists them');
    expect(linesOfPlan(planOf({ acts, actsLeftOut: 7 })).at(-1)).toBe('and 67 more');
  });

  it('nothing is nothing only when no job of anybody changes', () => {
    expect(isNothing(answerOf({ jobs: [planOf({})] }))).toBe(true);
    expect(isNothing(answerOf({ jobsHidden: 1 }))).toBe(false);
    expect(isNothing(answerOf({ jobs: [planOf({ acts: [start('web[0]', 'h1')] })] }))).toBe(false);
    const over = {
      namespace: 'default',
      dimension: 'cpuMilli',
      limit: 3_000,
      used: 2_900,
      wanted: 3_400,
    } as const;
    expect(remarksOf(answerOf({ quotas: [over] }))).toEqual([
      'beyond the quota of default: 3400m cpu of 3000m, 2900m in use; what is beyond it waits',
    ]);
    expect(remarksOf(answerOf({ jobsHidden: 2, unanswered: ['batch-1: no answer'], isCut: true }))).toEqual([
      'and 2 jobs of namespaces that you do not see',
      'not asked: batch-1: no answer',
      'not all was decided: the search took too long',
    ]);
  });
});
