import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Monitor } from '../../../../monitor/monitor.ts';
import type { Why } from '../../../../src/wire/api/scheduler-api.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';
import { reportOf } from '../../../support/reporting-host.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

/** Three hosts, of which h1 is silent for so long that it is lost. */
async function lostHost(): Promise<{ monitor: Monitor; address: string; living: readonly ReportingHost[] }> {
  const [gone, ...living] = [await world.host('h1'), await world.host('h2'), await world.host('h3')];
  const found = await world.monitor('m1', { lostAfterMs: 30_000 });
  await until(() => found.monitor.state.follower.view.complete && found.monitor.state.copy.hosts.size === 3);
  await settle();
  const job = {
    ...{ name: 'web', type: 'service', command: ['x'], reschedule: { onHostLost: true } },
    disconnect: { fence: 'power' },
  };
  await world.call('POST', `${found.address}/v1/jobs`, job);
  await world.place(allocationOf('h1', 'a1', { epoch: { incarnation: 'c1', counter: 0 } }));
  gone?.change(reportOf('h1', 'a1'));
  await settle();
  if (gone === undefined) throw new Error('no host');
  await gone.close();
  await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
  await world.pass(35, living);
  expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'lost', counter: 1 });
  return { ...found, living };
}

const WORD = { fence: 'power', reason: 'pulled the plug' };

describe('an operator’s word in place of a fence', () => {
  it('S0.34 I72 is written into the verdict, told by why and by an event, and ends with the verdict', async () => {
    const { address, living } = await lostHost();
    const why = async (): Promise<string> =>
      ((await world.call('GET', `${address}/v1/jobs/default/web/why`)).body as Why).summary;
    expect(await why()).toMatch(
      /kept until fence power confirms that h1 runs it no more \(waits for \d+ s, no answer yet\)/,
    );
    const answer = await world.call('POST', `${address}/v1/hosts/h1/fences`, WORD);
    const fences = { power: { confirmed: true, counter: 1, by: 'operator', detail: WORD.reason } };
    expect(answer).toMatchObject({
      status: 200,
      body: { eligibility: { state: 'lost', counter: 1, fences } },
    });
    await world.pass(2, living);
    expect(await why()).toMatch(/lost for \d+ s \(no session and no report\), replaced/);
    const events = await world.call('GET', `${address}/v1/events?since=0&follow=false`);
    expect(events.body).toMatch(/host-fenced.*power: pulled the plug/);
    // Still lost: what was confirmed counts on.
    await world.call('POST', `${address}/v1/hosts/h1/eligibility`, { state: 'lost', reason: 'burnt' });
    expect(await world.eligibilityOf('h1')).toMatchObject({ counter: 2, fences });
    const back = await world.host('h1');
    await world.pass(5, [...living, back]);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready', counter: 3 });
    expect(await world.eligibilityOf('h1')).not.toHaveProperty('fences');
  });

  it('I72 confirms nothing of a host that is not lost, or has a session again', async () => {
    const { address } = await lostHost();
    const confirm = (host: string, body: object = WORD) =>
      world.call('POST', `${address}/v1/hosts/${host}/fences`, body);
    expect(await confirm('h2')).toMatchObject({ status: 409, body: { code: 'host-not-lost' } });
    expect(await confirm('h9')).toMatchObject({ status: 404 });
    expect(await confirm('h1', { ...WORD, fence: 'self' })).toMatchObject({
      status: 400,
      body: { path: 'fence' },
    });
    await world.write([{ kind: 'put', key: world.keys.aliveOf('h1'), value: '{"v":1}' }]);
    expect(await confirm('h1')).toMatchObject({ status: 409, body: { code: 'host-not-lost' } });
    expect(await world.eligibilityOf('h1')).not.toHaveProperty('fences');
  });

  it('I72 a verdict that ends while the word is written makes it void', async () => {
    const { monitor } = await lostHost();
    const { store } = monitor.state;
    const attempt = store.attempt.bind(store);
    let between = 0;
    const eligibility = monitor.state.eligibility;
    store.attempt = async (wanted) => {
      const isWord = wanted.writes.some(({ key }) => key === world.keys.eligibilityOf('h1'));
      if (isWord && between++ === 0)
        await eligibility.set('h1', { state: 'ready', reason: 'back', by: 'm2' });
      return attempt(wanted);
    };
    const answer = { confirmed: true, detail: 'off', by: 'm1', atMs: 1 };
    expect(await eligibility.fence('h1', 'power', { ...answer, counter: 1 })).toBeNull();
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready' });
    expect(await world.eligibilityOf('h1')).not.toHaveProperty('fences');
  });
});
