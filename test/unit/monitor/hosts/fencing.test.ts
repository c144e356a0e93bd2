import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Monitor } from '../../../../monitor/monitor.ts';
import type { CommandEnd, Commands } from '../../../../src/ports/commands.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { allocationOf, jobOf, MonitorWorld } from '../../../support/monitor-world.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';

const TIMEOUT_MS = 10_000;

/** A program that answers when the test says what. */
class Fences implements Commands {
  readonly asked: string[] = [];
  readonly #open: ((end: CommandEnd) => void)[] = [];

  run(command: readonly string[]): Promise<CommandEnd> {
    this.asked.push(command.join(' '));
    return new Promise((resolve) => this.#open.push(resolve));
  }

  async answer(code: number | null, err = ''): Promise<void> {
    this.#open.shift()?.({ code, out: '', err });
    await settle();
  }
}

let world: MonitorWorld;
let fences: Fences;
beforeEach(() => {
  world = new MonitorWorld();
  fences = new Fences();
});
afterEach(() => world.close());

const fencing = () => ({
  fencing: {
    programs: new Map([['power', '/bin/off']]),
    ...{ commands: fences, timeoutMs: TIMEOUT_MS },
  },
  lostAfterMs: 30_000,
});

/** Three hosts; h1, with what the jobs have there, is lost. */
async function lost(wants: Readonly<Record<string, string | null>>, monitors = 1) {
  const hosts = [await world.host('h1'), await world.host('h2'), await world.host('h3')];
  const started: Monitor[] = [];
  for (let n = 1; n <= monitors; n++) {
    const { monitor } = await world.monitor(`m${String(n)}`, fencing());
    await until(() => monitor.state.follower.view.complete && monitor.state.copy.hosts.size === 3);
    started.push(monitor);
  }
  const [gone, ...living] = hosts;
  for (const [name, fence] of Object.entries(wants)) {
    const file = {
      name,
      type: 'service',
      reschedule: { onHostLost: true },
      ...(fence === null ? {} : { disconnect: { fence } }),
    };
    const record = { job: jobOf(file), version: 1, desired: 'run', submittedAtMs: 1 } as const;
    await world.write([
      { kind: 'put', key: world.keys.job('default', name), value: jobCodec.encode(record) },
    ]);
    const epoch = { incarnation: 'c1', counter: 0 };
    await world.place(allocationOf('h1', `a-${name}`, { job: name, group: name, epoch }));
  }
  await gone?.close();
  await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
  await world.pass(35, living);
  expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'lost', counter: 1 });
  return { living, started };
}

describe('programs that fence lost hosts', () => {
  it('S0.34 I72 are asked with the host and its incarnation, again after a refusal, and write what they said into the verdict', async () => {
    const { living } = await lost({ web: 'power' });
    expect(fences.asked).toEqual(['/bin/off fence h1 1']);
    await fences.answer(1, 'no route\nto the plug\n');
    const refused = { confirmed: false, counter: 1, by: 'm1', detail: 'exit 1: to the plug' };
    expect(await world.eligibilityOf('h1')).toMatchObject({ fences: { power: refused } });
    await world.pass(4, living);
    expect(fences.asked).toHaveLength(1);
    await world.pass(2, living);
    expect(fences.asked).toHaveLength(2);
    await fences.answer(null, 'no answer within 10000 ms');
    await world.pass(9, living);
    expect(fences.asked).toHaveLength(2);
    await world.pass(2, living);
    await fences.answer(0);
    const confirmed = { confirmed: true, detail: 'exit 0' };
    expect(await world.eligibilityOf('h1')).toMatchObject({ fences: { power: confirmed } });
    await world.pass(60, living);
    expect(fences.asked).toHaveLength(3);
  });

  it('S0.34 are asked for nothing that names no fence, or one of which there is no program here', async () => {
    await lost({ web: null, other: 'network' });
    expect(fences.asked).toEqual([]);
  });

  it('I72 the answer is void when the host is back by then, and no host that is back is fenced', async () => {
    const { living } = await lost({ web: 'power' });
    const back = await world.host('h1');
    await world.pass(3, [...living, back]);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready' });
    await fences.answer(0);
    expect(await world.eligibilityOf('h1')).not.toHaveProperty('fences');
    await world.pass(30, [...living, back]);
    expect(fences.asked).toHaveLength(1);
  });

  it('S0.34 of two monitors the second asks when the first would have had its time', async () => {
    const { living } = await lost({ web: 'power' }, 2);
    expect(fences.asked).toHaveLength(1);
    await world.pass(TIMEOUT_MS / 1_000 + 3, living);
    expect(fences.asked).toHaveLength(2);
    await fences.answer(0);
    await fences.answer(1);
    expect(await world.eligibilityOf('h1')).toMatchObject({ fences: { power: { confirmed: true } } });
  });
});
