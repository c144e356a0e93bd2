import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobStatus, RunAnswer, RunExit } from '../../../../src/wire/api/monitor-api.ts';
import { jobCodec, ownerCodec, roleCodec, runCodec } from '../../../../src/wire/records/records.ts';
import { until } from '../../../support/manual-clock.ts';
import { allocationOf, jobOf, MonitorWorld } from '../../../support/monitor-world.ts';
import { reportOf } from '../../../support/reporting-host.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const FILE = { name: 'web', type: 'service', command: ['serve'] };

describe('jobs through a monitor', () => {
  it('S0.4 keeps the accepted spec and every earlier one', async () => {
    const { address } = await world.monitor();
    expect((await world.call('POST', `${address}/v1/jobs`, FILE)).body).toMatchObject({
      version: 1,
      changed: true,
    });
    const next = await world.call('POST', `${address}/v1/jobs`, { ...FILE, count: 3 });
    expect(next.body).toMatchObject({ version: 2, changed: true });
    const status = (await world.call('GET', `${address}/v1/jobs/default/web`)).body as JobStatus;
    expect(status.record.version).toBe(2);
    expect(status.summary.counts.desired).toBe(3);
    const first = await world.read(world.keys.version('default', 'web', 1), jobCodec);
    expect(first?.job.groups['web']?.count).toBe(1);
  });

  it('an equal spec changes nothing', async () => {
    const { address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, FILE);
    const again = await world.call('POST', `${address}/v1/jobs`, FILE);
    expect(again).toMatchObject({ status: 200, body: { version: 1, changed: false } });
  });

  it('If-Match guards against a version that another request has changed', async () => {
    const { address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, FILE);
    const guarded = (version: string) =>
      world.call('POST', `${address}/v1/jobs`, { ...FILE, count: 2 }, { 'if-match': version });
    expect(await guarded('"7"')).toMatchObject({ status: 409, body: { code: 'version-mismatch' } });
    expect(await guarded('1')).toMatchObject({ status: 201 });
  });

  it('S0.2 answers a bad spec with the place that is wrong', async () => {
    const { address } = await world.monitor();
    const answer = await world.call('POST', `${address}/v1/jobs`, { ...FILE, count: 0 });
    expect(answer).toMatchObject({ status: 400, body: { code: 'bad-job', path: 'count' } });
  });

  it('what a scheduler stops has not failed; what ends by itself has', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, { ...FILE, count: 2 });
    await world.place(allocationOf('h1', 'a1', { desired: 'remove', cause: 'replaced by version 2' }));
    await world.place(allocationOf('h1', 'a2', { index: 1 }));
    const ended = { state: 'killed', released: false, reason: 'signal 15' } as const;
    host.change(reportOf('h1', 'a1', ended));
    host.change(reportOf('h1', 'a2', { ...ended, index: 1 }));
    await until(() => monitor.state.follower.view.allocation('a2') !== undefined);
    await until(() => monitor.state.copy.allocations.size === 2);
    const { body } = await world.call('GET', `${address}/v1/jobs/default/web`);
    expect((body as JobStatus).summary.counts).toMatchObject({ placed: 2, failed: 1 });
  });

  it('shows desired, observed and outcomes side by side, with their age (S4.2)', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, { ...FILE, count: 2 });
    await world.place(allocationOf('h1', 'a1'));
    await world.place(allocationOf('h1', 'a2', { index: 1 }));
    host.change(reportOf('h1', 'a1'));
    await until(() => monitor.state.follower.view.allocation('a1') !== undefined);
    await until(() => monitor.state.copy.allocations.size === 2);
    const { body } = await world.call('GET', `${address}/v1/jobs/default/web`);
    const status = body as JobStatus;
    expect(status.summary).toMatchObject({ phase: 'running', counts: { desired: 2, placed: 2, running: 1 } });
    expect(status.allocations.map((one) => [one.name, one.report?.state ?? null])).toEqual([
      ['web[0]', 'running'],
      ['web[1]', null],
    ]);
    expect(status.allocations[0]).toMatchObject({ asOfMs: world.clock.nowMs(), stale: false });
  });

  it('a job is quiet while all of it is placed and nothing has started again, however often that is asked', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor();
    const { copy, follower, statuses } = monitor.state;
    const isQuiet = (): boolean => statuses.isQuiet('default/web');
    await world.call('POST', `${address}/v1/jobs`, FILE);
    expect(isQuiet()).toBe(false);
    const allocation = allocationOf('h1', 'a1');
    await world.place(allocation);
    await until(() => copy.allocations.size === 1);
    host.change(reportOf('h1', 'a1'));
    await until(() => follower.view.allocation('a1') !== undefined);
    expect([isQuiet(), isQuiet()]).toEqual([true, true]);
    host.change(reportOf('h1', 'a1', { restarts: 1 }));
    await until(() => follower.view.allocation('a1')?.restarts === 1);
    expect(isQuiet()).toBe(false);
    host.change(reportOf('h1', 'a1'));
    await until(() => follower.view.allocation('a1')?.restarts === 0);
    expect(isQuiet()).toBe(true);
    await world.end(allocation, { state: 'failed' });
    await until(() => copy.outcomes.size === 1);
    expect(isQuiet()).toBe(false);
  });

  it('S0.22 a stopped job is stopped when its last allocation is gone', async () => {
    const { monitor, address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, FILE);
    await world.host('h1');
    const allocation = allocationOf('h1', 'a1');
    await world.place(allocation);
    await until(() => monitor.state.copy.allocations.size === 1);
    const stopped = await world.call('POST', `${address}/v1/jobs/default/web/stop`);
    expect(stopped.body).toMatchObject({ desired: 'stop', phase: 'running' });
    await world.end(allocation, { state: 'killed' });
    await until(() => monitor.state.copy.allocations.size === 0);
    const { body } = await world.call('GET', `${address}/v1/jobs/default/web`);
    expect((body as JobStatus).summary.phase).toBe('stopped');
  });

  it('why: says that no scheduler of the kind is alive, then who could take it, then asks the owner', async () => {
    const { monitor, address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, FILE);
    const why = async () => (await world.call('GET', `${address}/v1/jobs/default/web/why`)).body;
    expect(await why()).toMatchObject({
      summary: 'no scheduler of kind service is alive',
      groups: [{ pending: 1 }],
    });
    const answer = { namespace: 'default', job: 'web', scheduler: 's1', summary: 'needs 4 cpu', groups: [] };
    const peer = await world.network.server().listen(
      [
        {
          method: 'GET',
          path: '/v1/jobs/:namespace/:job/why',
          right: 'read',
          handle: async () => ({ status: 200, body: answer }),
        },
      ],
      { host: '127.0.0.1', port: 0, bodyBytesMax: 1_024 },
    );
    const role = {
      kind: 'scheduler',
      id: 's1',
      address: peer.address,
      version: '0',
      policy: 'service',
      startedAtMs: 0,
    } as const;
    await world.write([
      { kind: 'put', key: world.keys.role('scheduler', 's1'), value: roleCodec.encode(role) },
    ]);
    await until(() => monitor.state.copy.roles.size === 2);
    expect(await why()).toMatchObject({ summary: 'no scheduler has taken it yet; s1 could' });
    const owner = { scheduler: 's1', kind: 'service', sinceMs: 0 };
    await world.write([
      { kind: 'put', key: world.keys.owner('default', 'web'), value: ownerCodec.encode(owner) },
    ]);
    await until(() => monitor.state.copy.owners.size === 1);
    expect(await why()).toEqual(answer);
  });

  it('I57 with the store away reads are answered and writes answer 503 with Retry-After', async () => {
    const store = world.newStore();
    const { monitor, address } = await world.monitor('m1', { store });
    await world.call('POST', `${address}/v1/jobs`, FILE);
    await until(() => monitor.state.copy.jobs.size === 1);
    store.cutOff();
    expect(await world.call('GET', `${address}/v1/jobs/default/web`)).toMatchObject({ status: 200 });
    expect(await world.call('GET', `${address}/v1/hosts`)).toMatchObject({ status: 200 });
    const write = await world.call('POST', `${address}/v1/jobs`, { ...FILE, count: 2 });
    expect(write).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(await world.call('GET', `${address}/livez`)).toMatchObject({ status: 200 });
  });
});

describe('one-off runs', () => {
  const RUN = { name: 'hello', type: 'batch', command: ['echo', 'hello'] };
  const key = { 'idempotency-key': 'K1' };

  it('I20 the same key gives the same job, also at another monitor', async () => {
    const [one, two] = [await world.monitor('m1'), await world.monitor('m2')];
    const first = (await world.call('POST', `${one.address}/v1/runs`, RUN, key)).body as RunAnswer;
    const second = (await world.call('POST', `${two.address}/v1/runs`, RUN, key)).body as RunAnswer;
    expect(first.created).toBe(true);
    expect(second).toEqual({ ...first, created: false });
    const other = await world.call('POST', `${one.address}/v1/runs`, RUN, { 'idempotency-key': 'K2' });
    expect((other.body as RunAnswer).job).not.toBe(first.job);
  });

  it('I19 S4.25 is durable before it is acknowledged', async () => {
    const { address } = await world.monitor();
    const { job } = (await world.call('POST', `${address}/v1/runs`, RUN, key)).body as RunAnswer;
    const record = await world.read(world.keys.job('default', job), jobCodec);
    expect(record?.job).toMatchObject({ name: job, oneOff: true, groups: { [job]: { name: job } } });
    expect(await world.read(world.keys.run('default', 'K1'), runCodec)).toMatchObject({ job });
  });

  it('I5 I20 an unknown outcome, done or not, ends in one job', async () => {
    for (const applied of [true, false]) {
      const store = world.newStore();
      const attempt = store.attempt.bind(store);
      let lost = 0;
      store.attempt = async (wanted) => {
        const isRun = wanted.writes.some((write) => write.key.startsWith(world.keys.runs));
        if (!isRun || lost > 0) return attempt(wanted);
        lost += 1;
        if (applied) await attempt(wanted);
        return { outcome: 'unknown', cause: new Error('cut') };
      };
      const { address } = await world.monitor(applied ? 'm1' : 'm2', { store });
      const named = { 'idempotency-key': applied ? 'done' : 'undone' };
      const call = world.call('POST', `${address}/v1/runs`, RUN, named);
      await world.clock.advance(1_000);
      const answer = (await call).body as RunAnswer;
      expect(lost).toBe(1);
      expect(answer.created).toBe(true);
      const runs = await world.store.list(world.keys.runs);
      expect(runs.entries.size).toBe(applied ? 1 : 2);
      expect((await world.store.list(world.keys.jobs)).entries.size).toBe(runs.entries.size);
    }
  });

  it('I23 exit waits for the end and tells it as the host saw it', async () => {
    const host = await world.host('h1');
    const { address, monitor } = await world.monitor();
    const { job } = (await world.call('POST', `${address}/v1/runs`, RUN, key)).body as RunAnswer;
    const path = `${address}/v1/jobs/default/${job}/exit`;
    expect(await world.call('GET', path)).toMatchObject({ status: 204 });
    const waiting = world.call('GET', `${path}?waitMs=20000`);
    const of = { job, group: job };
    await world.place(allocationOf('h1', 'a1', of));
    host.change(reportOf('h1', 'a1', of));
    await until(() => monitor.state.follower.view.size === 1);
    host.change(reportOf('h1', 'a1', { ...of, state: 'complete', exit: { code: 0 }, reason: 'ended' }));
    const exit = (await waiting).body as RunExit;
    expect(exit).toMatchObject({ state: 'complete', exit: { code: 0 }, host: 'h1', allocation: 'a1' });
  });

  it('I24 an unplaceable run ends with its reason, without a host', async () => {
    const { address } = await world.monitor();
    const { job } = (await world.call('POST', `${address}/v1/runs`, RUN, key)).body as RunAnswer;
    const waiting = world.call('GET', `${address}/v1/jobs/default/${job}/exit?waitMs=20000`);
    const never = allocationOf('', 'x1', { job, group: job });
    await world.end(never, { state: 'failed', cause: 'unplaceable', reason: 'unplaceable: needs 99 cpu' });
    expect((await waiting).body).toMatchObject({
      state: 'failed',
      host: null,
      reason: 'unplaceable: needs 99 cpu',
    });
  });

  it('without a type it is a batch job, with the policies of one', async () => {
    const { address } = await world.monitor();
    const untyped = { name: 'hello', command: ['echo', 'hello'] };
    const answer = await world.call('POST', `${address}/v1/runs`, untyped, key);
    expect(answer.status).toBe(201);
    const { job } = answer.body as RunAnswer;
    const record = await world.read(world.keys.job('default', job), jobCodec);
    expect(record?.job).toMatchObject({ type: 'batch', groups: { [job]: { restart: { on: 'failure' } } } });
  });

  it.each(['service', 'system'])('a %s job is no run: place, reason, remedy', async (type) => {
    const { address } = await world.monitor();
    const answer = await world.call('POST', `${address}/v1/runs`, { ...RUN, type }, key);
    expect(answer).toMatchObject({
      status: 400,
      body: {
        code: 'bad-job',
        path: 'type',
        detail: `type: a one-off run is a batch job, which ends; a ${type} job is started again for ever`,
        hint: expect.stringContaining('POST /v1/jobs') as string,
      },
    });
    expect((await world.store.list(world.keys.jobs)).entries.size).toBe(0);
  });

  it('needs a key, and a key that is one', async () => {
    const { address } = await world.monitor();
    expect(await world.call('POST', `${address}/v1/runs`, RUN)).toMatchObject({ status: 400 });
    const bad = await world.call('POST', `${address}/v1/runs`, RUN, { 'idempotency-key': '../x' });
    expect(bad).toMatchObject({ status: 400 });
  });
});

it('a job that was just made at another monitor is not absent at this one', async () => {
  const store = world.newStore();
  const { monitor, address } = await world.monitor('m1', { store });
  const record = { job: jobOf({ name: 'web' }), version: 1, desired: 'run', submittedAtMs: 1 } as const;
  const made = world.write([
    { kind: 'put', key: world.keys.job('default', 'web'), value: jobCodec.encode(record) },
  ]);
  const answer = await made.then(() => world.call('GET', `${address}/v1/jobs/default/web`));
  expect(answer.status).toBe(200);
  expect(monitor.state.copy.jobs.size).toBe(1);
});
