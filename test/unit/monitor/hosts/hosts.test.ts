import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MASS_LOSS_WINDOW_MS, suspectHosts } from '../../../../monitor/hosts/mass-loss.ts';
import type { HostListAnswer } from '../../../../src/wire/api/monitor-api.ts';
import type { Problem } from '../../../../src/wire/api/problem.ts';
import type { Why } from '../../../../src/wire/api/scheduler-api.ts';
import { ledgerCodec } from '../../../../src/wire/records/records.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';
import { reportOf } from '../../../support/reporting-host.ts';

/** Verdicts late enough for what comes before them to be seen. */
const SLOW = { lostAfterMs: 30_000 };

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

describe('eligibility', () => {
  it('I62 a drain and the ledger change together, so that no commit can miss it', async () => {
    await world.host('h1');
    const { address } = await world.monitor();
    await world.place(allocationOf('h1', 'a1'));
    const body = { state: 'draining', reason: 'new disks', deadlineMs: 60_000 };
    const answer = await world.call('POST', `${address}/v1/hosts/h1/eligibility`, body);
    expect(answer).toMatchObject({ status: 200, body: { eligibility: { state: 'draining', counter: 1 } } });
    const deadline = world.clock.nowMs() + 60_000;
    expect(await world.eligibilityOf('h1')).toMatchObject({
      state: 'draining',
      drainDeadlineMs: deadline,
      by: 'operator',
    });
    expect(await world.ledgerOf('h1')).toMatchObject({
      state: 'draining',
      counter: 1,
      bands: [{ precedence: 50, cpuMilli: 100 }],
    });
    const one = (await world.store.read([world.keys.eligibilityOf('h1')])).entries.get(
      world.keys.eligibilityOf('h1'),
    );
    const two = (await world.store.read([world.keys.ledger('h1')])).entries.get(world.keys.ledger('h1'));
    expect(one?.modRevision).toBe(two?.modRevision);
    const ready = await world.call('POST', `${address}/v1/hosts/h1/eligibility`, {
      state: 'ready',
      reason: 'done',
    });
    expect(ready.body).toMatchObject({ eligibility: { state: 'ready', counter: 2 } });
    expect(await world.eligibilityOf('h1')).not.toHaveProperty('drainDeadlineMs');
  });

  it('I4 a commit that moves the ledger meanwhile is not lost under the change', async () => {
    await world.host('h1');
    const store = world.newStore();
    const { address } = await world.monitor('m1', { store });
    const attempt = store.attempt.bind(store);
    let between = 0;
    store.attempt = async (wanted) => {
      if (wanted.writes.some((write) => write.key === world.keys.ledger('h1')) && between++ < 3)
        await world.place(allocationOf('h1', `a${String(between)}`));
      return attempt(wanted);
    };
    const body = { state: 'cordoned', reason: 'look at it' };
    expect(await world.call('POST', `${address}/v1/hosts/h1/eligibility`, body)).toMatchObject({
      status: 200,
    });
    expect(await world.ledgerOf('h1')).toMatchObject({
      state: 'cordoned',
      bands: [{ precedence: 50, cpuMilli: 300 }],
    });
  });

  it('an unknown outcome is read back, and one change counts once', async () => {
    await world.host('h1');
    const store = world.newStore();
    const { address } = await world.monitor('m1', { store });
    const attempt = store.attempt.bind(store);
    let lost = false;
    store.attempt = async (wanted) => {
      const reply = await attempt(wanted);
      if (lost || !wanted.writes.some((write) => write.key === world.keys.ledger('h1'))) return reply;
      lost = true;
      return { outcome: 'unknown', cause: new Error('cut') };
    };
    const body = { state: 'cordoned', reason: 'look at it' };
    const answer = await world.call('POST', `${address}/v1/hosts/h1/eligibility`, body);
    expect(answer.body).toMatchObject({ eligibility: { counter: 1 } });
    expect(await world.eligibilityOf('h1')).toMatchObject({ counter: 1 });
  });

  it('refuses a host that is not there and a body that is wrong', async () => {
    await world.host('h1');
    const { address } = await world.monitor();
    const url = `${address}/v1/hosts`;
    const fine = { state: 'cordoned', reason: '' };
    expect(await world.call('POST', `${url}/h9/eligibility`, fine)).toMatchObject({ status: 404 });
    for (const body of [{ state: 'gone', reason: '' }, { ...fine, more: 1 }, { state: 'ready' }, undefined])
      expect(await world.call('POST', `${url}/h1/eligibility`, body)).toMatchObject({ status: 400 });
  });
});

describe('lost hosts', () => {
  async function cell(count: number) {
    const hosts: ReportingHost[] = [];
    for (let n = 1; n <= count; n++) hosts.push(await world.host(`h${String(n)}`));
    const { monitor, address } = await world.monitor('m1', SLOW);
    await until(() => monitor.state.follower.view.complete && monitor.state.copy.hosts.size === count);
    return { hosts, monitor, address };
  }

  async function kill(host: ReportingHost): Promise<void> {
    await host.close();
    await world.write([{ kind: 'delete', key: world.keys.aliveOf(host.id) }]);
    await settle();
  }

  async function lostOf(hosts: readonly ReportingHost[]): Promise<readonly string[]> {
    const lost: string[] = [];
    for (const { id } of hosts) if ((await world.eligibilityOf(id))?.state === 'lost') lost.push(id);
    return lost;
  }

  it('S0.10 S0.35 a host is lost only after the recovery delay, by a commit on its ledger', async () => {
    const { hosts } = await cell(3);
    const [gone, ...living] = hosts;
    if (gone === undefined) throw new Error('no host');
    await kill(gone);
    await world.pass(25, living);
    expect(await world.eligibilityOf('h1')).toBeNull();
    await world.pass(10, living);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'lost', counter: 1, by: 'm1' });
    expect((await world.eligibilityOf('h1'))?.silentMs).toBeGreaterThanOrEqual(30_000);
    expect(await world.ledgerOf('h1')).toMatchObject({ state: 'lost', counter: 1 });
    expect(await world.eligibilityOf('h2')).toBeNull();
  });

  it('S0.10 the word of an operator is recorded, though the session ended just now and time goes on', async () => {
    const { hosts, address } = await cell(3);
    const [gone, ...living] = hosts;
    await gone?.close();
    await world.pass(10, living);
    await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
    await settle();
    const { clock } = world;
    const now = clock.nowMs.bind(clock);
    clock.nowMs = () => (clock.step(1), now());
    const word = { state: 'lost', reason: 'burnt' };
    const answer = await world.call('POST', `${address}/v1/hosts/h1/eligibility`, word);
    expect(answer).toMatchObject({ status: 200, body: { eligibility: { ...word, confirmed: 'lost' } } });
    expect(await world.eligibilityOf('h1')).toMatchObject({ ...word, confirmed: 'lost', silentMs: 0 });
  });

  it('I18 a host whose reports still come is not lost, though its session ended', async () => {
    const { hosts } = await cell(3);
    await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
    await world.pass(60, hosts);
    expect(await world.eligibilityOf('h1')).toBeNull();
  });

  it('I18 a host that is only silent is not lost while its session lives', async () => {
    const { hosts } = await cell(3);
    await hosts[0]?.close();
    await world.pass(60, hosts.slice(1));
    expect(await world.eligibilityOf('h1')).toBeNull();
  });

  it('I18 S3.29 hosts that vanish together are lost three times as late, one in each interval, and an event says so', async () => {
    const { hosts, monitor, address } = await cell(6);
    const [one, two, ...living] = hosts;
    if (one === undefined || two === undefined) throw new Error('no hosts');
    await kill(one);
    await kill(two);
    await world.pass(85, living);
    expect(await lostOf(hosts)).toEqual([]);
    const stream = await world.call('GET', `${address}/v1/events?since=0&follow=false`);
    expect(stream.body).toContain('verdicts-held-back');
    expect(monitor.state.follower.view.host('h1')?.staleSinceMs).not.toBeNull();
    await world.pass(8, living);
    expect(await lostOf(hosts)).toHaveLength(1);
    await world.pass(4, living);
    expect(await lostOf(hosts)).toHaveLength(1);
    await world.pass(8, living);
    expect(await lostOf(hosts)).toEqual(['h1', 'h2']);
    expect((await world.eligibilityOf('h2'))?.silentMs).toBeGreaterThanOrEqual(90_000);
  });

  it('S3.29 I18 verdicts stop again when a host of the crowd returns, and it stays as it was', async () => {
    const { hosts, monitor } = await cell(6);
    const [one, two, three, ...living] = hosts;
    if (one === undefined || two === undefined || three === undefined) throw new Error('no hosts');
    for (const host of [one, two, three]) await kill(host);
    await world.pass(86, living);
    const back = await world.host('h1');
    await until(() => monitor.state.follower.view.host('h1')?.staleSinceMs === null);
    await world.pass(25, [...living, back]);
    expect(await lostOf(hosts)).toEqual([]);
    await world.pass(40, [...living, back]);
    expect(await lostOf(hosts)).toEqual(['h2', 'h3']);
    expect(await world.eligibilityOf('h1')).toBeNull();
  });

  it('I18 no host of a crowd is lost while none is left that could take its work', async () => {
    const { hosts } = await cell(3);
    for (const host of hosts) await kill(host);
    await world.pass(200, []);
    expect(await lostOf(hosts)).toEqual([]);
  });

  it('I18 several monitors keep one pace', async () => {
    const { hosts } = await cell(9);
    await world.monitor('m2', SLOW);
    await world.monitor('m3', SLOW);
    const [gone, living] = [hosts.slice(0, 6), hosts.slice(6)];
    for (const host of gone) await kill(host);
    const lost: number[] = [];
    for (let second = 0; second < 160; second++) {
      await world.pass(1, living);
      lost.push((await lostOf(hosts)).length);
    }
    expect(lost.at(80)).toBe(0);
    expect(lost.at(-1)).toBe(6);
    const steps = lost.flatMap((count, at) => (at > 0 && count > (lost[at - 1] ?? 0) ? [at] : []));
    expect(steps).toHaveLength(6);
    for (const [n, at] of steps.slice(1).entries()) expect(at - (steps[n] ?? 0)).toBeGreaterThanOrEqual(10);
  });

  it('S3.29 I17 an operator says at once that a silent host is lost, which raises its fencing counter', async () => {
    const { hosts, address } = await cell(3);
    const [gone, ...living] = hosts;
    if (gone === undefined) throw new Error('no host');
    const ask = { state: 'lost', reason: 'burnt' };
    const early = await world.call('POST', `${address}/v1/hosts/h1/eligibility`, ask);
    expect(early).toMatchObject({ status: 409, body: { code: 'host-alive' } });
    expect((early.body as Problem).hint).toContain('moorage host drain h1');
    await kill(gone);
    await world.pass(5, living);
    expect(await world.call('POST', `${address}/v1/hosts/h1/eligibility`, ask)).toMatchObject({
      status: 200,
      body: { eligibility: { state: 'lost', confirmed: 'lost', by: 'operator', reason: 'burnt' } },
    });
    expect(await world.ledgerOf('h1')).toMatchObject({ state: 'lost', counter: 1 });
    const stream = await world.call('GET', `${address}/v1/events?since=0&follow=false`);
    expect(stream.body).toMatch(/host-lost.*operator.*burnt/);
    // The monitors' verdict comes later, and changes nothing.
    await world.pass(40, living);
    expect(await world.eligibilityOf('h1')).toMatchObject({ confirmed: 'lost', counter: 1 });
    const back = await world.host('h1');
    await world.pass(5, [...living, back]);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready', counter: 2 });
    expect(await world.eligibilityOf('h1')).not.toHaveProperty('confirmed');
  });

  it('I14 an operator’s word on a host that is lost already keeps how long it has been', async () => {
    const { hosts, address } = await cell(3);
    const [gone, ...living] = hosts;
    if (gone === undefined) throw new Error('no host');
    await kill(gone);
    await world.pass(35, living);
    const before = await world.eligibilityOf('h1');
    await world.pass(20, living);
    await world.call('POST', `${address}/v1/hosts/h1/eligibility`, { state: 'lost', reason: 'burnt' });
    const after = await world.eligibilityOf('h1');
    expect(after).toMatchObject({ confirmed: 'lost', counter: 2 });
    expect([after?.sinceMs, after?.silentMs]).toEqual([before?.sinceMs, before?.silentMs]);
  });

  it('S1.21 a removed host goes when nothing is placed there, and is a new host when it comes back', async () => {
    const { hosts, monitor, address } = await cell(3);
    const [gone, ...living] = hosts;
    if (gone === undefined) throw new Error('no host');
    await world.place(allocationOf('h1', 'a1'));
    const url = `${address}/v1/hosts/h1?reason=sold`;
    expect(await world.call('DELETE', url)).toMatchObject({ status: 409, body: { code: 'host-alive' } });
    await kill(gone);
    await world.pass(5, living);
    expect(await world.call('DELETE', url)).toMatchObject({ status: 200, body: { allocations: 1 } });
    await world.pass(5, living);
    expect(monitor.state.copy.hosts.size).toBe(3);
    await world.write([{ kind: 'delete', key: world.keys.allocation('default', 'web', 'a1') }]);
    await world.pass(5, living);
    expect([...monitor.state.copy.hosts.names()]).toEqual(['h2', 'h3']);
    expect(await world.call('DELETE', url)).toMatchObject({ status: 404 });
    const back = await world.host('h1');
    await world.pass(5, [...living, back]);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready', counter: 2 });
  });

  it('S0.1 L1 why and status say until when a replacement waits for the verdict', async () => {
    const { hosts, address } = await cell(3);
    const [gone, ...living] = hosts;
    if (gone === undefined) throw new Error('no host');
    const file = { name: 'web', type: 'service', command: ['x'], reschedule: { onHostLost: true } };
    await world.call('POST', `${address}/v1/jobs`, file);
    await world.place(allocationOf('h1', 'a1'));
    gone.change(reportOf('h1', 'a1'));
    await settle();
    const why = async (): Promise<string> =>
      ((await world.call('GET', `${address}/v1/jobs/default/web/why`)).body as Why).summary;
    expect(await why()).toBe('running: 1 run, nothing waits');
    await kill(gone);
    await world.pass(10, living);
    expect(await why()).toMatch(
      /1 on h1, silent for \d+ s: declared lost in (19|2\d) s unless it returns, then replaced/,
    );
    const status = await world.call('GET', `${address}/v1/jobs/default/web`);
    expect(status.body).toMatchObject({ silentHosts: [{ host: 'h1', allocations: 1 }] });
    const list = (await world.call('GET', `${address}/v1/hosts`)).body as HostListAnswer;
    expect(list.hosts[0]?.verdictAtMs).toBeGreaterThan(world.clock.nowMs());
    await world.pass(25, living);
    expect(await why()).toMatch(/1 on h1, lost for \d+ s \(no session and no report\), replaced/);
  });

  it('S3.31 a host that returns is ready again, with a new counter', async () => {
    const { hosts, monitor } = await cell(3);
    const [gone, ...living] = hosts;
    if (gone === undefined) throw new Error('no host');
    await kill(gone);
    await world.pass(35, living);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'lost' });
    const back = await world.host('h1');
    await until(() => monitor.state.follower.view.host('h1')?.staleSinceMs === null);
    await world.pass(2, [...living, back]);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready', counter: 2 });
    expect(await world.read(world.keys.ledger('h1'), ledgerCodec)).toMatchObject({
      state: 'ready',
      counter: 2,
    });
  });

  it('S4.36 lists a silent host as stale since its last message, and says whether the view is complete', async () => {
    const { hosts, address } = await cell(2);
    const heardMs = world.clock.nowMs();
    const list = async () => (await world.call('GET', `${address}/v1/hosts`)).body as HostListAnswer;
    expect(await list()).toMatchObject({ incomplete: false });
    await hosts[0]?.close();
    await world.pass(5, hosts.slice(1));
    const { hosts: listed } = await list();
    expect(listed.map((one) => [one.host.id, one.staleSinceMs])).toEqual([
      ['h1', heardMs],
      ['h2', null],
    ]);
  });
});

describe('suspectHosts', () => {
  it('I18 never suspects a single host, and always a crowd above the bound', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60_000), { maxLength: 30 }), fc.nat(70), (times, others) => {
        const missing = new Map(times.map((time, n) => [`h${String(n)}`, time]));
        const total = missing.size + others;
        const suspects = suspectHosts(missing, total);
        for (const [host, time] of missing) {
          // By brute force: is there a window with this host in it that holds too many?
          const crowded = [...missing.values()].some((start) => {
            const within = (other: number) => other >= start && other - start <= MASS_LOSS_WINDOW_MS;
            const together = [...missing.values()].filter(within).length;
            return within(time) && together >= 2 && together > total * 0.3;
          });
          expect(suspects.has(host)).toBe(crowded);
        }
      }),
    );
  });
});
