import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Verdict } from '../../../../src/core/detector/verdict.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { DISK_FAULT } from '../../../../src/core/host/host.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { hostCodec, jobCodec, pauseCodec, rolloutCodec } from '../../../../src/wire/records/records.ts';
import { closedHostsCodec, verdictCodec } from '../../../../src/wire/verdicts/verdict-records.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { settle } from '../../../support/manual-clock.ts';
import { allocationOf, hostRecord, jobOf, MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';

const HOSTS = 12;
const JOBS = ['api', 'log', 'mail', 'web'];
let world: MonitorWorld;
let hosts: ReportingHost[];

beforeEach(async () => {
  world = new MonitorWorld();
  hosts = await world.hosts(HOSTS);
  for (const job of JOBS) await submit(job, 1);
});
afterEach(() => world.close());

async function submit(name: string, version: number): Promise<void> {
  const job = jobOf({ name, type: 'service', count: HOSTS });
  const record = { job, version, desired: 'run', submittedAtMs: world.clock.nowMs() } as const;
  await world.write([{ kind: 'put', key: world.keys.job('default', name), value: jobCodec.encode(record) }]);
  const kept = world.keys.version('default', name, version);
  await world.write([{ kind: 'put', key: kept, value: jobCodec.encode(record) }]);
}

function reported(job: string, host: string, version: number, restarts = 0): AllocationReport {
  const {
    desired: _d,
    planId: _p,
    epoch: _e,
    createdAtMs: _c,
    ...claim
  } = allocationOf(host, `${job}-${host}`);
  return {
    ...{ ...claim, job, group: job, jobVersion: version, state: 'running', released: false },
    ...{ reason: '', restarts },
    tasks: {
      [job]: {
        ...{ state: 'running', restarts },
        ...(restarts === 0 ? {} : { lastExit: { code: 1 } }),
      },
    },
  };
}

/** Every job runs on every host. */
async function runAll(): Promise<void> {
  for (const host of hosts)
    for (const job of JOBS) {
      await world.place(allocationOf(host.id, `${job}-${host.id}`, { job, group: job }));
      host.change(reported(job, host.id, 1));
    }
  await pass(15);
}

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await world.clock.advance(1_000);
    await settle();
  }
}

async function crash(job: string, on: readonly ReportingHost[], version: number): Promise<void> {
  for (let restarts = 1; restarts <= 4; restarts++) {
    for (const host of on) host.change(reported(job, host.id, version, restarts));
    await pass(1);
  }
}

const verdictOn = (suspect: string): Promise<Verdict | null> =>
  world.read(world.keys.verdict(suspect), verdictCodec);

it('S3.21 S3.13 a host on which all jobs fail is quarantined by one verdict of two monitors, which is told and can be cleared', async () => {
  const { address } = await world.monitor();
  await world.monitor('m2');
  await runAll();
  for (const job of JOBS) await crash(job, hosts.slice(2, 3), 1);
  await pass(12);
  expect(await verdictOn('host/h3')).toMatchObject({
    ...{ suspect: 'host/h3', times: 1 },
    evidence: { bad: 4, well: 0, controlBad: 0, controlWell: 44, hosts: ['h3'], jobsTotal: 4 },
    remedies: [{ remedy: 'quarantine', state: 'applied' }],
  });
  expect(await world.eligibilityOf('h3')).toMatchObject({ state: 'quarantined' });
  expect(await world.ledgerOf('h3')).toMatchObject({ state: 'quarantined' });
  const { body } = await world.call('GET', `${address}/v1/verdicts`);
  expect(body).toMatchObject({ verdicts: [{ suspect: 'host/h3' }] });
  const told = await world.call('GET', `${address}/v1/events?since=0&follow=false`);
  expect(told.body).toMatch(/"kind":"at-fault"[^\n]*host h3 is at fault/);
  const why = await world.call('GET', `${address}/v1/jobs/default/web/why`);
  expect(JSON.stringify(why.body)).toMatch(/host h3 is at fault.*so: quarantine/);
  await world.call('DELETE', `${address}/v1/verdicts?suspect=host/h3`);
  await pass(8);
  expect(await verdictOn('host/h3')).toMatchObject({
    ...{ endedBy: 'operator', endedWhy: 'cleared' },
    remedies: [{ state: 'undone' }],
  });
  expect(await world.eligibilityOf('h3')).toMatchObject({ state: 'ready' });
  // An operator's word counts for an hour, whatever fails.
  for (const job of JOBS) await crash(job, hosts.slice(2, 3), 1);
  await pass(10);
  expect(await verdictOn('host/h3')).toHaveProperty('endedAtMs');
});

it('S3.20 S3.19 S3.23 S3.39 a bad version is restarted slowly everywhere, and its rollout is stopped and undone', async () => {
  const { address } = await world.monitor();
  await runAll();
  await submit('web', 2);
  const rollout = { version: 2, state: 'updating', sinceMs: 1, reason: '', good: 1 } as const;
  const key = world.keys.rollout('default', 'web');
  await world.write([{ kind: 'put', key, value: rolloutCodec.encode(rollout) }]);
  for (const host of hosts)
    host.change({ ...reported('web', host.id, 1), id: `web-${host.id}`, state: 'killed' });
  for (let restarts = 0; restarts <= 4; restarts++) {
    for (const host of hosts)
      host.change({ ...reported('web', host.id, 2, restarts), id: `web2-${host.id}` });
    await pass(1);
  }
  await pass(12);
  const verdict = await verdictOn('revision/default/web/web/2');
  expect(verdict).toMatchObject({
    evidence: { bad: HOSTS, controlBad: 0, changes: [expect.stringMatching(/^was submitted/)] },
    remedies: [
      { remedy: 'slow-restarts', state: 'applied' },
      { remedy: 'stop-rollout', state: 'applied' },
      { remedy: 'revert' },
    ],
  });
  const pause = await world.read(world.keys.pause('restarts/job/default/web/2'), pauseCodec);
  expect(pause).toMatchObject({ version: 2, everyMs: 300_000 });
  // When nothing of it is left, its pauses end.
  await submit('web', 3);
  await pass(10);
  expect(await verdictOn('revision/default/web/web/2')).toMatchObject({ endedWhy: 'nothing of it is left' });
  const after = await world.read(world.keys.pause('restarts/job/default/web/2'), pauseCodec);
  expect(after).toHaveProperty('endedAtMs');
  expect((await world.call('GET', `${address}/v1/pauses`)).body).toEqual({ pauses: [] });
  const why = await world.call('GET', `${address}/v1/jobs/default/web/why`);
  expect(JSON.stringify(why.body)).toMatch(
    /version 2.* is at fault.*stop-rollout.*over: nothing of it is left/,
  );
});

it('S3.25 S3.60 no more of a pool is closed than its share, and an operator who opens a host is not contradicted', async () => {
  const { address } = await world.monitor();
  await world.call('PUT', `${address}/v1/remedies`, { sharePercent: 20 });
  for (const [n, { id, address: at }] of hosts.entries()) {
    const host = { ...hostRecord(id, at), attributes: { kernel: n < 5 ? '6.9' : '6.8' } };
    await world.write([{ kind: 'put', key: world.keys.host(id), value: hostCodec.encode(host) }]);
  }
  await runAll();
  const bad = hosts.slice(0, 5);
  for (const job of JOBS) await crash(job, bad, 1);
  await pass(15);
  const closed = async (): Promise<readonly string[]> => {
    const names: string[] = [];
    for (const { id } of hosts) if ((await world.eligibilityOf(id))?.state === 'quarantined') names.push(id);
    return names;
  };
  expect((await closed()).length).toBe(2);
  const [first = ''] = await closed();
  await world.call('POST', `${address}/v1/hosts/${first}/eligibility`, { state: 'ready', reason: 'mine' });
  await pass(20);
  expect(await closed()).not.toContain(first);
  const kept = await world.read(world.keys.closedHostsOf(''), closedHostsCodec);
  expect(kept?.hosts).toEqual(await closed());
});

/** Each job has been on the host for the first time, and could not be run there. */
async function cannotRun(on: ReportingHost, why = 'cannot run "work": not found'): Promise<void> {
  for (const job of JOBS) {
    await world.place(allocationOf(on.id, `${job}-${on.id}`, { job, group: job }));
    const report = reported(job, on.id, 1);
    on.change({ ...report, state: 'starting', tasks: { [job]: { state: 'starting', restarts: 0 } } });
    const reason = why.startsWith('cannot') ? `task ${job}: ${why}` : why;
    const tasks = { [job]: { state: 'failed' as const, restarts: 0, exit: { lost: 'not-run' } } };
    on.change({ ...report, state: 'failed', released: true, reason, tasks });
  }
  await pass(2);
}

it('S3.21 a host that can run nothing is at fault, though those it failed are gone when others have proved well', async () => {
  await world.monitor();
  await cannotRun(hosts[2]!);
  expect(await verdictOn('host/h3')).toBeNull();
  for (const host of hosts.filter(({ id }) => id !== 'h3'))
    for (const job of JOBS) {
      await world.place(allocationOf(host.id, `${job}-${host.id}`, { job, group: job }));
      host.change(reported(job, host.id, 1));
    }
  await pass(30);
  expect(await verdictOn('host/h3')).toMatchObject({
    evidence: { bad: 4, well: 0, reasons: JOBS.map((job) => `task ${job}: cannot run "work": not found`) },
    remedies: [{ remedy: 'quarantine', state: 'applied' }],
  });
});

it('S3.21 S3.26 a host whose disk was full takes work again soon after it has room', async () => {
  await world.monitor();
  const [, , third] = hosts as [ReportingHost, ReportingHost, ReportingHost];
  const say = async (attributes: Readonly<Record<string, string>>): Promise<void> => {
    const host = { ...hostRecord(third.id, third.address), attributes };
    await world.write([{ kind: 'put', key: world.keys.host(third.id), value: hostCodec.encode(host) }]);
  };
  await runAll();
  await say({ [DISK_FAULT]: 'full' });
  await cannotRun(third, 'disk-full: 0 bytes are left on the disk of this host');
  await pass(15);
  expect(await world.eligibilityOf('h3')).toMatchObject({ state: 'quarantined' });
  await pass(180);
  expect(await world.eligibilityOf('h3')).toMatchObject({ state: 'quarantined' });
  await say({});
  await pass(10);
  expect(await verdictOn('host/h3')).toMatchObject({ endedWhy: 'its disk takes writes again' });
  expect(await world.eligibilityOf('h3')).toMatchObject({ state: 'ready' });
});

it('S3.40 beyond the budget of the cell a remedy waits and says so, until there is some again', async () => {
  const { address } = await world.monitor();
  await world.call('PUT', `${address}/v1/remedies`, { perHourMax: 1, host: ['quarantine'] });
  await runAll();
  for (const job of JOBS) await crash(job, hosts.slice(2, 3), 1);
  await pass(10);
  expect(await verdictOn('host/h3')).toMatchObject({ remedies: [{ state: 'applied' }] });
  for (const job of JOBS) await crash(job, hosts.slice(4, 5), 1);
  await pass(10);
  const waits = { state: 'wanted', detail: 'waits: the budget of the cell is 1 within an hour' };
  expect(await verdictOn('host/h5')).toMatchObject({ remedies: [waits] });
  expect(await world.eligibilityOf('h5')).toBeNull();
  await world.call('PUT', `${address}/v1/remedies`, { perHourMax: 2, host: ['quarantine'] });
  await pass(5);
  expect(await verdictOn('host/h5')).toMatchObject({ remedies: [{ state: 'applied' }] });
});

it('S3.40 two verdicts of one moment do not both take the last remedy, however late a copy of the store is', async () => {
  const inner = world.newStore();
  let lateMs = 0;
  const follow: CellStore['follow'] = (prefix, follower) =>
    inner.follow(prefix, {
      onSnapshot: (snapshot) => follower.onSnapshot(snapshot),
      onChanges: (changes, revision) => {
        if (lateMs === 0) follower.onChanges(changes, revision);
        else world.clock.after(lateMs, () => follower.onChanges(changes, revision));
      },
    });
  const { address } = await world.monitor('m1', { store: withCalls(inner, { follow }) });
  await world.call('PUT', `${address}/v1/remedies`, { perHourMax: 1, host: ['quarantine'] });
  await runAll();
  lateMs = 2_500;
  const bad = [...hosts.slice(2, 3), ...hosts.slice(4, 5)];
  for (const job of JOBS) await crash(job, bad, 1);
  await pass(20);
  const verdicts = [await verdictOn('host/h3'), await verdictOn('host/h5')];
  expect(verdicts.map((one) => one?.remedies[0]?.state).sort()).toEqual(['applied', 'wanted']);
});

it('S3.60 the policy is said in part, the rest is by default, and what is no remedy for a suspect is refused', async () => {
  const { address } = await world.monitor();
  const url = `${address}/v1/remedies`;
  const set = await world.call('PUT', url, { host: ['drain'], jobs: { 'default/web': [] } });
  expect(set.body).toMatchObject({ host: ['drain'], sharePercent: 20, jobs: { 'default/web': [] } });
  expect((await world.call('GET', url)).body).toEqual(set.body);
  expect(await world.call('PUT', url, { host: ['revert'] })).toMatchObject({
    status: 400,
    body: { path: 'host' },
  });
});
