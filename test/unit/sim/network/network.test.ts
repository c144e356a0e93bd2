import { describe, expect, it } from 'vitest';
import { Agenda } from '../../../../sim/agenda/agenda.ts';
import { drive } from '../../../../sim/agenda/drive.ts';
import { Life } from '../../../../sim/agenda/life.ts';
import { VirtualClock } from '../../../../sim/agenda/virtual-clock.ts';
import { SimNetwork } from '../../../../sim/network/network.ts';
import { NetworkFaultProfile } from '../../../../sim/network/fault-profile.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { HttpError } from '../../../../src/ports/http.ts';

async function joined() {
  const agenda = new Agenda();
  const network = new SimNetwork(agenda, new NetworkFaultProfile(seededRandom(3)));
  const speakerOf = (actor: string) => {
    const life = new Life(actor);
    const identity = { cell: 'sim', role: 'operator', id: actor } as const;
    return { life, identity, clock: new VirtualClock(agenda, life), log: silentLog };
  };
  const [caller, peer] = [speakerOf('caller'), speakerOf('peer')];
  let handled = 0;
  const endless = async function* (): AsyncGenerator<string> {
    yield 'hello';
    await new Promise(() => undefined);
  };
  await network.server(peer).listen(
    [
      {
        method: 'POST',
        path: '/count',
        right: 'read',
        handle: async () => ({ status: 200, body: { handled: ++handled } }),
      },
      {
        method: 'GET',
        path: '/stream',
        right: 'read',
        handle: async () => ({ status: 200, stream: endless() }),
      },
    ],
    { host: '', port: 0, bodyBytesMax: 1_000 },
  );
  const http = network.client(caller);
  const post = () =>
    http
      .call({ method: 'POST', url: 'http://peer/count', timeoutMs: 1_000 })
      .then((answer) => answer.body)
      .catch((error: unknown) => (error as HttpError).sent);
  return { agenda, network, http, peer, post, handled: () => handled };
}

describe('the simulated network', () => {
  it('F3 loses what is sent into a cut, and answers that come out of one: the caller cannot tell which', async () => {
    const { agenda, network, post, handled } = await joined();
    network.faults.cut('caller', 'peer');
    const there = post();
    await drive(agenda, { untilMs: 2_000 });
    expect([await there, handled()]).toEqual([true, 0]);
    network.faults.heal('caller', 'peer');
    network.faults.cut('peer', 'caller');
    const back = post();
    await drive(agenda, { untilMs: 4_000 });
    expect([await back, handled()]).toEqual([true, 1]);
    network.faults.heal('peer', 'caller');
    const both = post();
    await drive(agenda, { untilMs: 6_000 });
    expect(await both).toEqual({ handled: 2 });
  });

  it('F6 delivers a request twice', async () => {
    const { agenda, network, post, handled } = await joined();
    network.faults.override({ double: 1 });
    const answer = post();
    await drive(agenda, { untilMs: 2_000 });
    expect(await answer).toEqual({ handled: 1 });
    expect(handled()).toBe(2);
  });

  it('F4 refuses for certain where nobody listens, and resets what a dead peer had open', async () => {
    const { agenda, network, http, peer, post } = await joined();
    const opening = http.stream({
      ...{ method: 'GET', url: 'http://peer/stream', timeoutMs: 1_000, idleTimeoutMs: 60_000 },
    });
    await drive(agenda, { untilMs: 100 });
    const { chunks } = await opening;
    const read: string[] = [];
    const reading = (async () => {
      for await (const chunk of chunks) read.push(new TextDecoder().decode(chunk));
    })().catch((error: unknown) => (error as HttpError).sent);
    peer.life.end();
    network.reset(peer.life);
    await drive(agenda, { untilMs: 200 });
    expect([read, await reading]).toEqual([['hello'], true]);
    const refused = post();
    await drive(agenda, { untilMs: 300 });
    expect(await refused).toBe(false);
  });
});
