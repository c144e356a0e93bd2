import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostNames } from '../../../../host-agent/names/host-names.ts';
import type { KnownName } from '../../../../host-agent/names/names.ts';
import type { Monitor } from '../../../../monitor/monitor.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { systemRandom } from '../../../../src/adapters/system/system.ts';
import { NAMES_SILENCE_MS } from '../../../../src/wire/api/names-api.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';
import { promMetrics } from '../../../../src/adapters/telemetry/metrics.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { allocationOf, jobOf, MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';
import { reportOf } from '../../../support/reporting-host.ts';

const NAME = 'http.web.web.default';
const KEPT_MS = 60_000;
let world: MonitorWorld;
let host: ReportingHost;
let names: HostNames;
const monitors: { readonly monitor: Monitor; readonly address: string }[] = [];
const over = new Set<string>();

beforeEach(async () => {
  world = new MonitorWorld();
  host = await world.host('h1');
  const job = jobOf({ name: 'web', type: 'service', count: 2, ports: { http: 'auto' } });
  const record = { job, version: 1, desired: 'run' as const, submittedAtMs: 1 };
  await world.write([{ kind: 'put', key: world.keys.job('default', 'web'), value: jobCodec.encode(record) }]);
  monitors.splice(0, 2, await world.monitor('m1'), await world.monitor('m2'));
  over.clear();
  names = new HostNames({
    ...{ clock: world.clock, random: systemRandom, log: silentLog, metrics: promMetrics() },
    ...{ keptMs: KEPT_MS, isOver: ({ allocation }) => over.has(allocation) },
  });
  names.follow(world.store, world.keys, world.network.client('h2'));
});
afterEach(async () => {
  await names.close();
  await world.close();
});

const runs = async (id: string, index: number, ready = true): Promise<void> => {
  const ports = { http: 20_000 + index };
  await world.place(allocationOf('h1', id, { index, ports }));
  host.change(
    reportOf('h1', id, { index, ports, tasks: { main: { state: 'running', restarts: 0, ready } } }),
  );
};
const servingOf = (known: KnownName | null): string =>
  known === null ? 'nothing is known' : known.endpoints.map(({ allocation }) => allocation).join(' ');
const now = (): string => servingOf(names.known.now(NAME));
const fallen = async (seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second++) {
    await world.clock.advance(1_000);
    host.beat();
    await settle();
  }
};

describe('names that a host follows', () => {
  it('S0.30: from the first question on it is told who serves, and who does not any more', async () => {
    await runs('a0', 0);
    const first = names.known.ask(NAME);
    await until(() => now() === 'a0');
    expect(servingOf(await first)).toBe('a0');
    await runs('a1', 1);
    await until(() => now() === 'a0 a1');
    await runs('a1', 1, false);
    await until(() => now() === 'a0');
    // What ends here is known here first.
    over.add('a0');
    expect(now()).toBe('');
  });

  it('S0.30: another name is followed beside the first; one of nothing is known to be none', async () => {
    await runs('a0', 0);
    await names.known.ask(NAME);
    await until(() => now() === 'a0');
    const other = names.known.ask('http.api.api.default');
    await fallen(1);
    expect(await other).toMatchObject({ known: false, endpoints: [] });
    await runs('a1', 1);
    await until(() => now() === 'a0 a1');
  });

  it('S0.30 I51: a monitor that dies changes nothing; without any the last view stays to its bound', async () => {
    await runs('a0', 0);
    await names.known.ask(NAME);
    await until(() => now() === 'a0');
    const [first, second] = monitors;
    await first?.monitor.close();
    await runs('a1', 1);
    await fallen(2);
    expect(now()).toBe('a0 a1');
    await second?.monitor.close();
    await fallen(NAMES_SILENCE_MS / 1_000 + 1);
    expect(names.known.now(NAME)).toMatchObject({ known: true, isStale: true });
    expect(now()).toBe('a0 a1');
    await fallen(KEPT_MS / 1_000);
    expect(now()).toBe('nothing is known');
    expect(await world.monitor('m3')).toBeTruthy();
    await fallen(20);
    expect(now()).toBe('a0 a1');
  });

  it('S0.30: names of nothing push out no name that somebody uses, and are bounded', async () => {
    await runs('a0', 0);
    await names.known.ask(NAME);
    await until(() => now() === 'a0');
    const asked = Array.from({ length: 2_000 }, (_, n) => names.known.ask(`http.x${String(n)}.web.default`));
    expect(names.known.wanted().length).toBeLessThanOrEqual(250);
    expect(names.known.wanted()).toContain(NAME);
    await fallen(3);
    await Promise.all(asked);
    expect(now()).toBe('a0');
  });
});
