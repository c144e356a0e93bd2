import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Problem } from '../../../../src/wire/api/problem.ts';
import type { Why } from '../../../../src/wire/api/scheduler-api.ts';
import { jobCodec, pauseCodec, rolloutCodec } from '../../../../src/wire/records/records.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
let jobs: string;

beforeEach(async () => {
  world = new MonitorWorld();
  await world.host('h1');
  await world.host('h2');
  const { monitor, address } = await world.monitor();
  jobs = `${address}/v1/jobs`;
  await until(() => monitor.state.follower.view.complete && monitor.state.copy.hosts.size === 2);
});
afterEach(() => world.close());

/** A version of the service that its scheduler has found to be up. */
async function submit(more: object = {}): Promise<void> {
  await world.call('POST', jobs, { name: 'web', command: ['sleep', '9'], count: 2, ...more });
  await world.place(allocationOf('h1', 'a1', { job: 'web', group: 'web' }));
  await world.place(allocationOf('h1', 'a2', { job: 'web', group: 'web', index: 1 }));
  const version = (await recordOf())?.version ?? 1;
  const value = rolloutCodec.encode({ version, state: 'done', sinceMs: 0, reason: '' });
  await world.write([{ kind: 'put', key: world.keys.rollout('default', 'web'), value }]);
  await settle();
}

const ask = (moves: readonly object[], reason = 'room') =>
  world.call('POST', `${jobs}/default/web/moves`, { moves, reason });

async function refusal(moves: readonly object[]): Promise<Problem> {
  const { status, body } = await ask(moves);
  expect(status).toBeGreaterThanOrEqual(400);
  return body as Problem;
}

const recordOf = () => world.read(world.keys.job('default', 'web'), jobCodec);

describe('moves that are asked for', () => {
  it('S0.38 stand in the record of their job, which another version begins without, and why tells them', async () => {
    await submit();
    expect(await ask([{ allocation: 'a1', to: 'h2' }])).toMatchObject({ status: 200, body: { name: 'web' } });
    await ask([{ allocation: 'a2' }]);
    const until = world.clock.nowMs() + 3_600_000;
    const both = [
      { allocation: 'a1', to: 'h2', reason: 'room', by: 'operator', untilMs: until },
      { allocation: 'a2', reason: 'room', by: 'operator', untilMs: until },
    ];
    expect(await recordOf()).toMatchObject({ version: 1, moves: both });
    // The same again is one move, and another host takes the place of the first.
    await ask([{ allocation: 'a2', to: 'h2' }]);
    expect((await recordOf())?.moves).toHaveLength(2);
    const why = (await world.call('GET', `${jobs}/default/web/why`)).body as Why;
    expect(why.summary).toContain('web[0] moves from h1 to h2 in its turn, as operator asked (room)');
    await submit({ count: 3 });
    expect(await recordOf()).not.toHaveProperty('moves');
  });

  it('I64 keep what a newer version wrote into the record, of other moves and of its policy', async () => {
    await submit();
    // A copy: what a codec gives may be shared, and frozen for that.
    const known = structuredClone(
      (await recordOf()) as unknown as { job: { groups: { web: { reschedule: object } } } },
    );
    Object.assign(known.job.groups.web.reschedule, { onFullMoon: true });
    const later = { allocation: 'a2', reason: '', by: 'ada', untilMs: 1e15, softly: true };
    const value = jobCodec.encode({ ...known, moves: [later] } as never);
    await world.write([{ kind: 'put', key: world.keys.job('default', 'web'), value }]);
    await settle();
    expect(await ask([{ allocation: 'a1' }])).toMatchObject({ status: 200 });
    expect(await recordOf()).toMatchObject({
      job: { groups: { web: { reschedule: { onFullMoon: true } } } },
      moves: [{ softly: true }, { allocation: 'a1' }],
    });
  });

  it('S0.43 S0.38 are refused with the reason for what is not to be moved', async () => {
    const detail = async (): Promise<string> => (await refusal([{ allocation: 'a1' }])).detail;
    await submit({ reschedule: { onRequest: false } });
    expect(await detail()).toBe('web[0] is not moved: reschedule.onRequest is false');
    await submit({ reschedule: 'never' });
    expect(await detail()).toContain('reschedule.onDrain is false');
    await submit();
    const pause = { what: 'placement', by: 'ada', reason: 'a look', sinceMs: 0 } as const;
    const key = world.keys.pause('placement/job/default/web');
    await world.write([
      { kind: 'put', key, value: pauseCodec.encode({ ...pause, namespace: 'default', job: 'web' }) },
    ]);
    expect(await detail()).toContain('what is paused is not moved');
    await world.write([{ kind: 'delete', key }]);
    await world.call('POST', `${jobs}/default/web/stop`);
    expect(await detail()).toContain('what is stopped is not moved');
  });

  it('are refused while an update is under way, and for wrong names and hosts', async () => {
    await submit();
    expect(await refusal([{ allocation: 'a9' }])).toMatchObject({ code: 'not-placed', path: 'moves.0' });
    expect((await refusal([{ allocation: 'a1', to: 'h9' }])).code).toBe('no-such-host');
    expect(await refusal([{ allocation: 'a1', to: 'h1' }])).toMatchObject({ code: 'wrong-host' });
    expect((await refusal([{ allocation: 'a1' }, { allocation: 'a1' }])).path).toBe('moves.1');
    expect((await refusal([])).code).toBe('bad-request');
    const hosts = jobs.replace(/jobs$/, 'hosts');
    await world.call('POST', `${hosts}/h2/eligibility`, { state: 'cordoned', reason: '' });
    expect((await refusal([{ allocation: 'a1', to: 'h2' }])).detail).toContain('it is cordoned');
    await world.call('POST', `${hosts}/h2/eligibility`, { state: 'ready', reason: '' });
    await submit({ constraints: ['host.id == h1'] });
    expect((await refusal([{ allocation: 'a1', to: 'h2' }])).detail).toContain('does not meet');
    await world.call('POST', jobs, { name: 'web', command: ['sleep', '10'], count: 2 });
    await settle();
    expect((await refusal([{ allocation: 'a1' }])).detail).toContain('an update of web is under way');
    expect(await recordOf()).not.toHaveProperty('moves');
  });
});
