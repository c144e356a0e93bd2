import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { REAPER_LIMITS } from '../../../../monitor/reaper/reaper-limits.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { GIVEN_UP } from '../../../../src/core/slots/given-up.ts';
import type { Write } from '../../../../src/ports/cell-store.ts';
import type { HttpClient } from '../../../../src/ports/http.ts';
import type { Log, LogFields } from '../../../../src/ports/telemetry.ts';
import type { StopRequest } from '../../../../src/wire/api/host-api.ts';
import {
  eligibilityCodec,
  intentCodec,
  ledgerCodec,
  metaCodec,
  ownerCodec,
} from '../../../../src/wire/records/records.ts';
import type { RunAnswer } from '../../../../src/wire/api/monitor-api.ts';
import { CELL_INCARNATION } from '../../../support/host-orders.ts';
import { until } from '../../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';
import { reportOf } from '../../../support/reporting-host.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const OWNERLESS_S = REAPER_LIMITS.ownerlessMs / 1_000 + 5;

describe('reaper', () => {
  it('S1.27 S1.16 S1.1 a deleted job without an owner: its allocation is stopped, and released only when the host says so', async () => {
    const host = await world.host('h1');
    const { monitor } = await world.monitor();
    await world.place(allocationOf('h1', 'a1'));
    host.change(reportOf('h1', 'a1'));
    await until(() => monitor.state.follower.view.size === 1);
    await world.pass(OWNERLESS_S, [host]);
    expect(host.stops).toContain('a1');
    expect(monitor.state.copy.allocations.get('default/web/a1')?.value.desired).toBe('stop');
    host.change(reportOf('h1', 'a1', { state: 'killed', reason: 'stopped' }));
    await world.pass(5, [host]);
    expect(monitor.state.copy.allocations.size).toBe(1);
    host.change(reportOf('h1', 'a1', { state: 'killed', reason: 'stopped', released: true }));
    await world.pass(5, [host]);
    await until(() => monitor.state.copy.allocations.size === 0);
    expect(await world.ledgerOf('h1')).toMatchObject({ bands: [] });
    expect(monitor.state.copy.outcomesByJob.of('default/web').get('a1')?.value).toMatchObject({
      state: 'killed',
    });
  });

  it('I55 a gang on its way ends soon when its owner is gone, and has its time while that is there', async () => {
    const { monitor } = await world.monitor();
    const intent = { jobVersion: 1, group: 'web', scheduler: 'batch-1', planId: 'p', members: 2 };
    const open = (job: string): Write => ({
      ...{ kind: 'put', key: world.keys.intent('default', job, 'i1') },
      value: intentCodec.encode({
        ...{ ...intent, id: 'i1', namespace: 'default', job, state: 'open', createdAtMs: 0, ttlMs: 60_000 },
      }),
    });
    const owner = ownerCodec.encode({ scheduler: 'batch-1', kind: 'batch', sinceMs: 0 });
    await world.write([
      { kind: 'put', key: world.keys.owner('default', 'kept'), value: owner },
      open('kept'),
      open('orphan'),
    ]);
    await world.pass(20, []);
    expect([...monitor.state.copy.intents.rows()].map(([name]) => name)).toEqual(['default/kept/i1']);
    await world.pass(60, []);
    expect(monitor.state.copy.intents.size).toBe(0);
  });

  it('S1.30 what its host never had is released, once the host has refused it for good', async () => {
    const host = await world.host('h1');
    const { monitor } = await world.monitor();
    await world.place(allocationOf('h1', 'a1'));
    // This host answers `no-allocation` to the stop.
    await world.pass(OWNERLESS_S, [host]);
    await until(() => monitor.state.copy.allocations.size === 0);
    expect(host.stops).toContain('a1');
    expect(monitor.state.copy.outcomes.size).toBe(1);
  });

  it('leaves alone what has an owner, and what is wanted', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, { name: 'wanted', type: 'service', command: ['x'] });
    await world.place(allocationOf('h1', 'a1', { job: 'wanted', group: 'wanted' }));
    await world.place(allocationOf('h1', 'a2', { job: 'owned', group: 'owned' }));
    const owner = { scheduler: 's1', kind: 'service', sinceMs: 0 };
    await world.write([
      { kind: 'put', key: world.keys.owner('default', 'owned'), value: ownerCodec.encode(owner) },
    ]);
    await world.pass(OWNERLESS_S * 2, [host]);
    expect(host.stops).toEqual([]);
    expect(monitor.state.copy.allocations.size).toBe(2);
  });

  it('S1.12 a lost host keeps its capacity until the orphan time, then it is given back and the history kept', async () => {
    const host = await world.host('h1');
    const others = [await world.host('h2'), await world.host('h3')];
    const { monitor } = await world.monitor('m1', { reaper: { orphanMs: 300_000 } });
    await world.place(allocationOf('h1', 'a1'));
    host.change(reportOf('h1', 'a1'));
    await until(() => monitor.state.follower.view.size === 1);
    await host.close();
    await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
    await world.pass(250, others);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'lost' });
    expect(monitor.state.copy.allocations.size).toBe(1);
    await world.pass(100, others);
    await until(() => monitor.state.copy.allocations.size === 0);
    expect([...monitor.state.copy.outcomes.rows()][0]?.[1].value).toMatchObject({ state: 'lost' });
  });

  it('S1.12 a stopped job without an owner ends at once on an operator’s word, with an end that was reported', async () => {
    const host = await world.host('h1');
    const others = [await world.host('h2'), await world.host('h3')];
    const { monitor, address } = await world.monitor();
    await world.place(allocationOf('h1', 'a1'));
    host.change(reportOf('h1', 'a1', { state: 'complete', exit: { code: 0 } }));
    await until(() => monitor.state.follower.view.size === 1);
    await host.close();
    await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
    await world.pass(OWNERLESS_S, others);
    expect(monitor.state.copy.allocations.size).toBe(1);
    await world.call('POST', `${address}/v1/hosts/h1/eligibility`, { state: 'lost', reason: 'burnt' });
    await world.pass(5, others);
    await until(() => monitor.state.copy.allocations.size === 0);
    // Its host had reported the end, and was lost before it had cleaned up.
    expect([...monitor.state.copy.outcomes.rows()][0]?.[1].value).toMatchObject({ state: 'complete' });
  });

  it('S1.26 S0.12 what a host brings back is stopped though its job has an owner', async () => {
    const host = await world.host('h1');
    await world.monitor();
    const owner = ownerCodec.encode({ scheduler: 's1', kind: 'service', sinceMs: 0 });
    const meta = metaCodec.encode({ schema: 1, incarnation: CELL_INCARNATION, createdAtMs: 0 });
    await world.write([
      { kind: 'put', key: world.keys.owner('default', 'web'), value: owner },
      { kind: 'put', key: world.keys.meta, value: meta },
    ]);
    const given = allocationOf('h1', 'a1');
    await world.end(given, { state: 'lost', exit: { lost: GIVEN_UP }, reason: GIVEN_UP });
    await world.place(allocationOf('h1', 'a2', { index: 1 }));
    for (const report of [reportOf('h1', 'a1'), reportOf('h1', 'a2', { index: 1 }), reportOf('h1', 'a3')])
      host.change(report);
    await world.pass(10, [host]);
    expect(new Set(host.stops)).toEqual(new Set(['a1']));
  });

  it('S1.14 S1.26 what a host brings back of a job that was given up meanwhile is stopped, and nothing else', async () => {
    const host = await world.host('h1');
    const others = [await world.host('h2'), await world.host('h3')];
    const { monitor, address } = await world.monitor('m1', { reaper: { orphanMs: 300_000 } });
    const wanted = { job: 'wanted', group: 'wanted' };
    const meta = metaCodec.encode({ schema: 1, incarnation: CELL_INCARNATION, createdAtMs: 0 });
    await world.write([{ kind: 'put', key: world.keys.meta, value: meta }]);
    await world.call('POST', `${address}/v1/jobs`, { name: 'wanted', type: 'service', command: ['x'] });
    await world.place(allocationOf('h1', 'a1'));
    await world.place(allocationOf('h1', 'a2', wanted));
    host.change(reportOf('h1', 'a1'));
    host.change(reportOf('h1', 'a2', wanted));
    await until(() => monitor.state.follower.view.size === 2);
    await host.close();
    await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
    await world.pass(400, others);
    await until(() => monitor.state.copy.allocations.size === 1);
    const back = await world.host('h1');
    // The third host has never reported: that no report names it is no evidence.
    for (const report of [reportOf('h1', 'a1'), reportOf('h1', 'a2', wanted), reportOf('h1', 'a3')])
      back.change(report);
    await world.pass(10, [...others, back]);
    expect(new Set(back.stops)).toEqual(new Set(['a1']));
    back.change(reportOf('h1', 'a1', { state: 'stopping' }));
    await world.pass(2, [...others, back]);
    const { length } = back.stops;
    back.change(reportOf('h1', 'a1', { state: 'killed', released: true }));
    await world.pass(10, [...others, back]);
    expect(back.stops).toHaveLength(length);
  });

  it('S1.34 a finished one-off run goes after its retention: the host record first, then job, key and outcome', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor('m1', { reaper: { runRetentionMs: 100_000 } });
    const file = { name: 'hello', type: 'batch', command: ['x'] };
    const run = await world.call('POST', `${address}/v1/runs`, file, { 'idempotency-key': 'k' });
    const { job } = run.body as RunAnswer;
    const of = { job, group: job };
    await world.place(allocationOf('h1', 'a1', of));
    host.change(reportOf('h1', 'a1', { ...of, state: 'complete', released: true }));
    await world.end(allocationOf('h1', 'a1', of));
    await world.pass(90, [host]);
    expect(monitor.state.copy.jobs.size).toBe(1);
    expect(host.reports.size).toBe(1);
    await world.pass(20, [host]);
    await until(() => monitor.state.copy.outcomes.size === 0);
    expect(host.reports.size).toBe(0);
    expect((await world.store.list(world.keys.jobs)).entries.size).toBe(0);
    expect((await world.store.list(world.keys.runs)).entries.size).toBe(0);
  });

  it('S1.16 S1.34 a deleted job is stopped, and goes with all its records when its host has released it', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor();
    const url = `${address}/v1/jobs/default/web`;
    const submit = (command: string) =>
      world.call('POST', `${address}/v1/jobs`, { name: 'web', type: 'service', command: [command] });
    expect(await world.call('DELETE', url)).toMatchObject({ status: 404 });
    for (const command of ['x', 'y', 'z']) await submit(command);
    await world.place(allocationOf('h1', 'a1', { jobVersion: 3 }));
    host.change(reportOf('h1', 'a1'));
    await until(() => monitor.state.follower.view.size === 1);
    for (let twice = 0; twice < 2; twice++)
      expect(await world.call('DELETE', url)).toMatchObject({
        status: 200,
        body: { desired: 'stop', deleted: true },
      });
    await world.pass(OWNERLESS_S, [host]);
    expect(host.stops).toContain('a1');
    expect(monitor.state.copy.jobs.size).toBe(1);
    host.change(reportOf('h1', 'a1', { state: 'killed', reason: 'stopped', released: true }));
    await world.pass(5, [host]);
    expect(await world.call('GET', url)).toMatchObject({ status: 404 });
    for (const prefix of [world.keys.jobs, world.keys.versions, world.keys.outcomes, world.keys.allocations])
      expect((await world.store.list(prefix)).entries.size).toBe(0);
    expect(host.reports.size).toBe(0);
    // The name is free again.
    expect(await submit('x')).toMatchObject({ status: 201, body: { version: 1 } });
  });

  it('a deleted job that is submitted again meanwhile stays', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor();
    const file = { name: 'web', type: 'service', command: ['x'] };
    await world.call('POST', `${address}/v1/jobs`, file);
    await world.place(allocationOf('h1', 'a1'));
    host.change(reportOf('h1', 'a1'));
    await world.call('DELETE', `${address}/v1/jobs/default/web`);
    await world.call('POST', `${address}/v1/jobs`, file);
    await world.write([{ kind: 'delete', key: world.keys.allocation('default', 'web', 'a1') }]);
    await world.pass(10, [host]);
    expect(monitor.state.copy.jobs.get('default/web')?.value).toMatchObject({ version: 2, desired: 'run' });
    expect(monitor.state.copy.jobs.get('default/web')?.value).not.toHaveProperty('deleted');
  });

  it('S1.34 ended jobs go by age and by number, the oldest first, and what runs stays', async () => {
    const reaper = { jobRetentionMs: 1_000_000, jobsKept: 2 };
    const { monitor, address } = await world.monitor('m1', { reaper });
    const end = async (name: string): Promise<void> => {
      await world.call('POST', `${address}/v1/jobs`, { name, type: 'batch', command: ['x'] });
      await world.end(allocationOf('h1', `of-${name}`, { job: name, group: name }));
      await world.pass(10, []);
    };
    await world.call('POST', `${address}/v1/jobs`, { name: 'runs', type: 'batch', command: ['x'] });
    for (const name of ['one', 'two', 'three', 'four']) await end(name);
    await world.pass(10, []);
    const names = () => [...monitor.state.copy.jobs.names()].sort();
    expect(names()).toEqual(['default/four', 'default/runs', 'default/three']);
    await world.pass(1_000, []);
    expect(names()).toEqual(['default/runs']);
    expect(monitor.state.copy.outcomes.size).toBe(0);
  });

  it('S1.34 many ended jobs go in few transactions; one that changes meanwhile stays, and holds up no other', async () => {
    const store = world.newStore();
    vi.spyOn(world, 'newStore').mockReturnValue(store);
    const { monitor, address } = await world.monitor('m1', { reaper: { jobsKept: 0 } });
    const submit = (name: string, count: number) =>
      world.call('POST', `${address}/v1/jobs`, { name, type: 'batch', count, command: ['x'] });
    const attempt = store.attempt.bind(store);
    /** How many jobs each transaction deletes. */
    const transactions: number[] = [];
    vi.spyOn(store, 'attempt').mockImplementation(async (asked) => {
      const jobs = asked.writes.filter(
        ({ kind, key }) => kind === 'delete' && key.startsWith(world.keys.jobs),
      );
      if (jobs.length > 0) transactions.push(jobs.length);
      if (jobs.length > 1 && transactions.length === 1) await submit('job-07', 2);
      return attempt(asked);
    });
    for (let n = 10; n < 50; n++) {
      const name = n === 10 ? 'job-07' : `job-${String(n)}`;
      await submit(name, 1);
      await world.end(allocationOf('h1', `of-${name}`, { job: name, group: name }));
    }
    await world.pass(5, []);
    expect([...monitor.state.copy.jobs.names()]).toEqual(['default/job-07']);
    expect(monitor.state.copy.jobs.get('default/job-07')?.value.version).toBe(2);
    // The one that was refused comes first; its jobs go by themselves after it.
    expect(transactions[0]).toBeGreaterThan(10);
    expect(transactions).toContain(1);
  });

  it('S1.34 ended one-off runs go by number, too, and the cell tells how many there are beside how many may be', async () => {
    const { monitor, address } = await world.monitor('m1', { reaper: { runsKept: 2 } });
    const end = async (key: string): Promise<void> => {
      const file = { name: 'hello', type: 'batch', command: ['x'] };
      const run = await world.call('POST', `${address}/v1/runs`, file, { 'idempotency-key': key });
      const { job } = run.body as RunAnswer;
      await world.end(allocationOf('h1', `of-${key}`, { job, group: job }));
      await world.pass(10, []);
    };
    for (const key of ['one', 'two', 'three']) await end(key);
    await world.pass(10, []);
    const names = [...monitor.state.copy.outcomes.names()].map((name) =>
      name.slice(name.lastIndexOf('/') + 1),
    );
    expect(names.sort()).toEqual(['of-three', 'of-two']);
    const { body } = await world.call('GET', `${address}/v1/cell`);
    expect(body).toMatchObject({
      kept: { runs: { count: 2, most: 2, forMs: 3_600_000 }, jobs: { count: 0 }, outcomes: { count: 2 } },
    });
  });

  it('S1.34 S1.20 earlier versions go by number and by age, but for those that something still names', async () => {
    const host = await world.host('h1');
    const reaper = { versionsKept: 2, versionRetentionMs: 500_000 };
    const { monitor, address } = await world.monitor('m1', { reaper });
    for (let version = 1; version <= 6; version++)
      await world.call('POST', `${address}/v1/jobs`, {
        ...{ name: 'web', type: 'service', command: [`v${String(version)}`] },
      });
    await world.place(allocationOf('h1', 'a1', { jobVersion: 1 }));
    host.change(reportOf('h1', 'a1'));
    await world.end(allocationOf('h1', 'a2', { jobVersion: 2, index: 1 }));
    await world.pass(5, [host]);
    const kept = () => [...monitor.state.copy.versions.names()].map((name) => Number(name.slice(-6)));
    expect(kept()).toEqual([1, 2, 4, 5]);
    await world.pass(520, [host]);
    expect(kept()).toEqual([1, 2]);
  });

  it.each([
    [0, 10],
    [20, 20],
    [null, 30],
  ])('S1.19 %s outcomes of a slot are kept, and what its policy counts', async (outcomesPerSlot, left) => {
    const { monitor, address } = await world.monitor('m1', { reaper: { outcomesPerSlot } });
    await world.call('POST', `${address}/v1/jobs`, { name: 'web', type: 'service', command: ['x'] });
    for (let attempt = 1; attempt <= 30; attempt++)
      await world.end(allocationOf('h9', `a${String(attempt)}`, { attempt }), {
        state: 'killed',
        cause: 'x',
      });
    await world.pass(10, []);
    expect(monitor.state.copy.outcomes.size).toBe(left);
  });

  it('S0.14 two monitors divide the jobs between them, and each allocation is released once', async () => {
    const host = await world.host('h1');
    const [one] = [await world.monitor('m1'), await world.monitor('m2')];
    await world.place(allocationOf('h1', 'a1'));
    await world.place(allocationOf('h1', 'a2', { job: 'other', group: 'other' }));
    host.change(reportOf('h1', 'a1', { state: 'killed', released: true }));
    host.change(reportOf('h1', 'a2', { job: 'other', group: 'other', state: 'killed', released: true }));
    await world.pass(OWNERLESS_S, [host]);
    await until(() => one.monitor.state.copy.allocations.size === 0);
    expect(await world.ledgerOf('h1')).toMatchObject({ bands: [] });
    expect(one.monitor.state.copy.outcomes.size).toBe(2);
  });

  it.each(['eligibility', 'ledger'] as const)(
    'I17 a stop carries the present counter of the %s, not the one of the placing',
    async (where) => {
      const host = await world.host('h1');
      const stops: StopRequest[] = [];
      const client = world.network.client('m1');
      const http: HttpClient = {
        call: (call) => {
          if (call.url.endsWith('/stop')) stops.push(call.body as StopRequest);
          return client.call(call);
        },
        stream: (call) => client.stream(call),
        close: () => client.close(),
      };
      const { monitor } = await world.monitor('m1', { http });
      await world.place(allocationOf('h1', 'a1'));
      await raiseCounter(where, 7);
      host.change(reportOf('h1', 'a1'));
      await until(() => monitor.state.follower.view.size === 1);
      await world.pass(OWNERLESS_S, [host]);
      expect(new Set(stops.map(({ epoch }) => epoch.counter))).toEqual(new Set([7]));
      expect(stops[0]?.epoch.incarnation).toBe('c1');
    },
  );

  it('says so when a host refuses a stop, and keeps the capacity', async () => {
    const host = await world.host('h1');
    const client = world.network.client('m1');
    const http: HttpClient = {
      call: async (call) => {
        if (!call.url.endsWith('/stop')) return await client.call(call);
        return { status: 409, headers: {}, body: { status: 409, code: 'epoch-old', detail: 'later orders' } };
      },
      stream: (call) => client.stream(call),
      close: () => client.close(),
    };
    const warnings: LogFields[] = [];
    const log: Log = { ...silentLog, warn: (fields) => warnings.push(fields) };
    const { monitor } = await world.monitor('m1', { http, log });
    await world.place(allocationOf('h1', 'a1'));
    host.change(reportOf('h1', 'a1'));
    await until(() => monitor.state.follower.view.size === 1);
    await world.pass(OWNERLESS_S, [host]);
    expect(warnings).toContainEqual(
      expect.objectContaining({ allocation: 'a1', kind: 'refused', code: 'epoch-old' }),
    );
    expect(monitor.state.copy.allocations.size).toBe(1);
  });

  it('I18 deletes no outcome before the host reported, and then lets the host forget first', async () => {
    const host = await world.host('h1');
    host.change(reportOf('h1', 'a1', { state: 'complete', released: true }));
    await world.end(allocationOf('h1', 'a1'));
    await world.end(allocationOf('h1', 'a2'));
    const client = world.network.client('m1');
    let isCut = true;
    const http: HttpClient = {
      call: (call) => client.call(call),
      stream: (call) => (isCut ? Promise.reject(new Error('cut')) : client.stream(call)),
      close: () => client.close(),
    };
    const { monitor } = await world.monitor('m1', { http, reaper: { outcomeRetentionMs: 1_000 } });
    await world.pass(30, [host]);
    expect(monitor.state.copy.outcomes.size).toBe(2);
    expect(host.reports.size).toBe(1);
    isCut = false;
    await world.pass(15, [host]);
    await until(() => monitor.state.copy.outcomes.size === 0);
    expect(host.reports.size).toBe(0);
  });

  it('S1.12 the outcomes of a lost host stay until the orphan time after its declaration', async () => {
    const host = await world.host('h1');
    const others = [await world.host('h2'), await world.host('h3')];
    await world.end(allocationOf('h1', 'a1'));
    await host.close();
    await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
    const times = { outcomeRetentionMs: 1_000, orphanMs: 300_000 };
    const { monitor } = await world.monitor('m1', { reaper: times });
    await world.pass(250, others);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'lost' });
    expect(monitor.state.copy.outcomes.size).toBe(1);
    await world.pass(100, others);
    await until(() => monitor.state.copy.outcomes.size === 0);
  });

  it('the outcomes of a host that is no longer registered wait for no host', async () => {
    await world.end(allocationOf('h1', 'a1'));
    const { monitor } = await world.monitor('m1', { reaper: { outcomeRetentionMs: 1_000 } });
    await world.pass(5, []);
    await until(() => monitor.state.copy.outcomes.size === 0);
  });
});

/** An eligibility change later than the placing; of its two records the monitor knows only one. */
async function raiseCounter(where: 'eligibility' | 'ledger', counter: number): Promise<void> {
  if (where === 'eligibility') {
    const verdict = { state: 'ready', reason: '', by: 'test', sinceMs: 0, counter } as const;
    const value = eligibilityCodec.encode(verdict);
    await world.write([{ kind: 'put', key: world.keys.eligibilityOf('h1'), value }]);
    return;
  }
  const ledger = await world.ledgerOf('h1');
  if (ledger === null) throw new Error('h1 has no ledger');
  const value = ledgerCodec.encode({ ...ledger, counter });
  await world.write([{ kind: 'put', key: world.keys.ledger('h1'), value }]);
}
