import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seenBy } from '../../../../monitor/jobs/plan-answer.ts';
import type { Caller } from '../../../../src/core/access/access.ts';
import type { JobPlan, PlanAct, PlanAnswer } from '../../../../src/wire/plan/plan.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

const FILE = { name: 'web', type: 'service', command: ['serve'] };

describe('plans through a monitor', () => {
  let world: MonitorWorld;
  beforeEach(() => {
    world = new MonitorWorld();
  });
  afterEach(() => world.close());

  it('without a scheduler of its kind it says so, and nothing is written', async () => {
    const { address } = await world.monitor();
    const answer = await world.call('POST', `${address}/v1/plan`, { submit: FILE });
    expect(answer).toMatchObject({ status: 200, body: { versionBefore: null, jobs: [], isCut: false } });
    expect((answer.body as PlanAnswer).unanswered).toEqual(['no scheduler of kind service is alive']);
    expect(await world.read(world.keys.job('default', 'web'), jobCodec)).toBeNull();
  });

  it('a file that a submission would refuse is refused, with the same words', async () => {
    const { address } = await world.monitor();
    const bad = { submit: { ...FILE, count: 0 } };
    expect(await world.call('POST', `${address}/v1/plan`, bad)).toMatchObject({
      ...{ status: 400, body: { code: 'bad-job', path: 'count' } },
    });
    await world.call('POST', `${address}/v1/jobs`, FILE);
    const other = { submit: { ...FILE, type: 'batch' } };
    expect(await world.call('POST', `${address}/v1/plan`, other)).toMatchObject({
      ...{ status: 409, body: { code: 'type-immutable' } },
    });
  });

  it('hosts that are not there, and questions that are none, are refused', async () => {
    await world.host('h1');
    const { address } = await world.monitor();
    const ask = (body: unknown) => world.call('POST', `${address}/v1/plan`, body);
    expect(await ask({ hostsLost: ['h9'] })).toMatchObject({ status: 404, body: { code: 'no-such-host' } });
    expect(await ask({ hostsAdded: { count: 1, like: 'h9' } })).toMatchObject({ status: 404 });
    for (const body of [{}, { hostsLost: ['h1'], submit: FILE }, { hostsAdded: { count: 0, like: 'h1' } }])
      expect(await ask(body)).toMatchObject({ status: 400, body: { code: 'bad-request' } });
  });
});

describe('what a caller sees of a plan', () => {
  const person = { role: 'person', name: 'ann', scope: 'read', namespaces: ['mine'] } as unknown as Caller;
  const act = (namespace: string): PlanAct => ({
    ...{ act: 'preempt', namespace, job: 'low', slot: 'low[0]', host: 'h1', allocation: 'a1' },
  });
  const planOf = (namespace: string, acts: readonly PlanAct[]): JobPlan => ({
    ...{ namespace, job: 'web', version: 1, scheduler: 's', acts, actsLeftOut: 0, waits: [] },
  });
  const plan = {
    ...{ jobs: [planOf('mine', [act('mine'), act('zebra')]), planOf('zebra', [])] },
    ...{ unanswered: [], isCut: false },
  };

  it('S4.13 jobs of other namespaces are counted, and victims there have no names', () => {
    const seen = seenBy(person, plan);
    expect(seen.jobsHidden).toBe(1);
    expect(seen.jobs).toHaveLength(1);
    expect(seen.jobs[0]?.acts[0]).toEqual(act('mine'));
    expect(seen.jobs[0]?.acts[1]).toMatchObject({ act: 'preempt', job: '', host: 'h1' });
    expect(JSON.stringify(seen)).not.toContain('zebra');
  });

  it('who sees all namespaces sees all of it', () => {
    expect(seenBy(null, plan)).toMatchObject({ jobs: plan.jobs, jobsHidden: 0 });
  });
});
