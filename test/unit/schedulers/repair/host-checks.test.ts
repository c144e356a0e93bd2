import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostChecks } from '../../../../schedulers/repair/host-checks.ts';
import type { Term } from '../../../../schedulers/state/state.ts';
import { HostCalls } from '../../../../schedulers/calls/calls.ts';
import type { OwnEntry } from '../../../../schedulers/state/job-table.ts';
import { Entry, OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import type { Releaser } from '../../../../schedulers/commit/releaser.ts';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { makeHost } from '../../core/placement/placement-fixtures.ts';
import { CellWorld, makeJob } from '../cell-world.ts';

describe('HostChecks', () => {
  let clock: ManualClock;
  let checks: HostChecks;
  /** Hosts whose questions are under way. */
  let open: { readonly host: string; readonly answer: () => void }[];

  beforeEach(() => {
    clock = new ManualClock();
    open = [];
    const list = (host: string): Promise<{ readonly allocations: readonly [] }> =>
      new Promise((resolve) => open.push({ host, answer: () => resolve({ allocations: [] }) }));
    const term = {
      signal: new AbortController().signal,
      world: { clock },
      cell: { state: { hostOf: (id: string) => makeHost(id, { address: id }) } },
      hosts: { list, get: () => new Promise<never>(() => undefined) },
      hostCalls: new HostCalls({ clock, addressOf: (host) => host, signal: new AbortController().signal }),
    } as unknown as Term;
    checks = new HostChecks(term, {} as Releaser);
  });

  const job = new OwnedJob({ job: makeJob('web'), version: 1, desired: 'run', submittedAtMs: 0 }, 1, 1);
  const on = (host: string, n: number): OwnEntry => {
    const entry = new Entry({ id: `${host}-${String(n)}`, host } as Allocation, 1, 'started');
    job.entries.set(entry.allocation.id, entry);
    return { job, entry };
  };
  const askedNow = (): string[] => open.map(({ host }) => host);

  it('one question serves all of a host, which is not asked again before it has answered', async () => {
    const unseen = [on('a', 1), on('a', 2), on('b', 1)];
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      checks.sweep(unseen);
      await clock.advance(5_000);
    }
    expect(askedNow()).toEqual(['a', 'b']);
  });

  it('those that could not be asked in one sweep are asked in the next', async () => {
    const unseen = Array.from({ length: 150 }, (_, n) => on(`h${String(n)}`, 1));
    const asked = new Set<string>();
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      checks.sweep(unseen);
      expect(open.length).toBeLessThanOrEqual(64);
      for (const { host, answer } of open.splice(0)) {
        asked.add(host);
        answer();
      }
      await clock.advance(5_000);
    }
    expect(asked.size).toBe(150);
  });
});

describe('hosts that do not answer', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const service = (name: string, count: number, host: string) => {
    const only = { attribute: 'id', operator: '==', value: host, text: `host.id == ${host}` } as const;
    return makeJob(name, { type: 'service' }, { count, constraints: [only] }, 10);
  };

  it('I55 are asked little, and an order to one of them does not wait for the others', async () => {
    const hosts = [];
    for (let n = 0; n < 40; n++) hosts.push(await world.host(`h${String(n)}`));
    await world.scheduler({ id: 'service-1', kind: 'service' });
    for (const { id } of hosts) await world.submit(service(`many-${id}`, 5, id));
    await world.until(() => world.running().length === 200, 'all of them');
    const silent = new Set(hosts.map(({ address }) => address));
    let calls = 0;
    const open = new Map<string, number>();
    world.fate = async (call) => {
      const address = call.url.slice(0, call.url.indexOf('/v1/'));
      if (!silent.has(address)) return 'pass';
      if (call.url.includes('/v1/reports')) return 'refuse';
      calls += 1;
      open.set(address, (open.get(address) ?? 0) + 1);
      expect(open.get(address)).toBeLessThanOrEqual(2);
      const fate = await world.untilDeadline(call);
      open.set(address, (open.get(address) ?? 0) - 1);
      return fate;
    };
    for (const { address } of hosts) world.network.cut(address);
    await world.clock.advance(120_000);
    // Each once in 6 s at most, and all of them together as the 32 places have it.
    expect(calls).toBeGreaterThan(0);
    expect(calls).toBeLessThanOrEqual(40 + (32 * 120) / 5);
    const [back] = hosts;
    if (back === undefined) throw new Error('no host');
    silent.delete(back.address);
    await world.submit(service('many-h0', 5, 'h0'), 1, 'stop');
    // Those under way have to end first, and perhaps the first order came in between two.
    await world.until(() => back.running.length === 0, 'the stop', 15_000);
  });

  it('I55 a host that knows of some and not of others says so of each', async () => {
    const host = await world.host('h1');
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(service('web', 5, 'h1'));
    await world.until(() => world.running().length === 5, 'the service');
    // It forgets two of them, and its stream tells of nothing any more.
    world.fate = ({ url }) => (url.includes('/v1/reports') ? 'refuse' : 'pass');
    world.network.cut(host.address);
    const [first, second, ...kept] = host.running.map(({ id }) => id);
    for (const id of [first, second]) host.reports.delete(id ?? '');
    await world.until(() => world.outcomes().length === 2, 'their ends');
    await world.clock.advance(20_000);
    expect(new Set(world.outcomes().map(({ allocation }) => allocation))).toEqual(new Set([first, second]));
    expect(kept.every((id) => world.allocations().some((allocation) => allocation.id === id))).toBe(true);
    expect(world.ledgersAreTrue()).toBe(true);
  });
});
