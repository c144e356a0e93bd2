import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Fate } from '../../../support/memory-network.ts';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { canonicalJson } from '../../../../src/core/json/canonical-json.ts';
import type { Group } from '../../../../src/core/cell/job.ts';
import type { TicketRequest } from '../../../../src/wire/api/arbiter-api.ts';
import { quotaCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';
import { FakeArbiter } from '../fake-arbiter.ts';

describe('a scheduler that needs tickets', () => {
  let world: CellWorld;
  let arbiter: FakeArbiter;
  beforeEach(async () => {
    world = new CellWorld();
    arbiter = await new FakeArbiter(world).join();
  });
  afterEach(() => world.close());

  it('S4.14 S4.27 asks for one before it commits, and the start carries it', async () => {
    const host = await world.host('h1');
    await world.scheduler({ id: 'batch-1', enforcement: true });
    const seen: number[] = [];
    world.fate = (call) => {
      if (call.url.endsWith('/v1/tickets')) seen.push(world.allocations().length);
      return 'pass';
    };
    await world.submit(makeJob('hello', {}, { count: 3 }));
    await world.until(() => host.running.length === 3, 'the starts');
    expect(seen).toEqual([0]);
    const [request] = arbiter.requests;
    expect(request?.placements).toHaveLength(3);
    expect(new Set(host.orders.map(({ ticket }) => ticket)).size).toBe(3);
    for (const [i, { launch, allocation }] of host.orders.entries()) {
      const terms = request?.placements[i];
      expect(terms).toMatchObject({ aud: 'h1', scheduler: 'batch-1', claim: { id: allocation.id } });
      expect(terms?.commandDigest).toBe(sha256Hex(canonicalJson(launch)));
    }
  });

  it('S4.12 asks for a gang as a whole, and for other groups one by one', async () => {
    const hosts = [await world.host('h1'), await world.host('h2')];
    const runs = (count: number): boolean =>
      hosts.reduce((sum, { running }) => sum + running.length, 0) === count;
    await world.scheduler({ id: 'batch-1', enforcement: true });
    await world.submit(makeJob('gang', {}, { count: 3, gang: true }));
    await world.until(() => runs(3), 'the gang');
    expect(arbiter.requests[0]?.together).toEqual([{ first: 0, count: 3 }]);
    await world.submit(makeJob('hello', {}, { count: 2 }));
    await world.until(() => runs(5), 'the others');
    expect(arbiter.requests[1]?.placements).toHaveLength(2);
    expect(arbiter.requests[1]?.together).toBeUndefined();
  });

  it('asks for namespaces without a quota apart: their tickets wait for no write', async () => {
    const host = await world.host('h1', 16_000);
    arbiter.limited = ['tight'];
    await world.scheduler({ id: 'batch-1', enforcement: true });
    const submitBoth = async (part: string): Promise<void> => {
      await Promise.all([
        world.submit(makeJob(`${part}-tight`, { namespace: 'tight' }, { count: 2 }, 100)),
        world.submit(makeJob(`${part}-free`, { namespace: 'free' }, { count: 2 }, 100)),
      ]);
    };
    await submitBoth('first');
    await world.until(() => host.running.length === 4, 'the first jobs');
    const before = arbiter.requests.length;
    await submitBoth('second');
    await world.until(() => host.running.length === 8, 'the second jobs');
    const asked = arbiter.requests
      .slice(before)
      .map(({ placements }) => placements.map((one) => one.namespace));
    expect(asked.every((namespaces) => new Set(namespaces).size === 1)).toBe(true);
    expect(asked.flat().sort()).toEqual(['free', 'free', 'tight', 'tight']);
  });

  it('I6 what is stopped while its ticket is asked for is not placed', async () => {
    await world.host('h1');
    const { events } = await world.scheduler({ id: 'batch-1', enforcement: true });
    let answer = (_fate: Fate): void => undefined;
    const held = new Promise<Fate>((resolve) => (answer = resolve));
    world.fate = (call) => (call.url.endsWith('/v1/tickets') ? held : 'pass');
    const job = makeJob('hello', {}, { count: 2 });
    await world.submit(job);
    await world.until(() => events.some(({ kind }) => kind === 'owned'), 'an owner');
    await world.clock.advance(100);
    await world.submit(job, 1, 'stop');
    await world.clock.advance(100);
    answer('pass');
    await world.until(() => events.some(({ kind }) => kind === 'finished'), 'the end');
    expect(arbiter.requests).toHaveLength(1);
    expect(events.map(({ kind }) => kind)).not.toContain('placed');
  });

  it('S4.12 a refusal leaves nothing claimed, says why, and is asked again when it may make sense', async () => {
    const host = await world.host('h1');
    arbiter.refusal = { code: 'quota', detail: 'namespace default uses 4 of 4 cpu', retryAfterMs: 3_000 };
    const { scheduler, events } = await world.scheduler({ id: 'batch-1', enforcement: true });
    await world.submit(makeJob('hello'));
    await world.until(() => events.some(({ kind }) => kind === 'refused-ticket'), 'the refusal');
    await world.clock.advance(2_000);
    expect(arbiter.requests).toHaveLength(1);
    expect(world.allocations()).toEqual([]);
    expect(world.ledgersAreTrue()).toBe(true);
    expect(scheduler.status().ticketsRefused).toBe(1);
    arbiter.refusal = null;
    await world.until(() => host.running.length === 1, 'the start', 3_000);
  });

  it('S4.15 a ticket that would end before the start is not used: a new one is asked for', async () => {
    const host = await world.host('h1');
    arbiter.ttlMs = 1_000;
    await world.scheduler({ id: 'batch-1', enforcement: true });
    world.fate = (call) => {
      if (call.url.endsWith('/v1/tickets') && arbiter.requests.length === 1) arbiter.ttlMs = 30_000;
      return 'pass';
    };
    await world.submit(makeJob('hello'));
    await world.until(() => host.running.length === 1, 'the start');
    expect(arbiter.requests).toHaveLength(2);
    expect(host.orders.map(({ ticket }) => ticket)).toEqual(['ticket-2']);
  });

  it('S4.15 a host that calls a ticket expired gets another one, for the same allocation', async () => {
    const host = await world.host('h1');
    host.refuseOnce = 'ticket-expired';
    await world.scheduler({ id: 'batch-1', enforcement: true });
    await world.submit(makeJob('hello'));
    await world.until(() => host.running.length === 1, 'the start');
    expect(host.orders.map(({ ticket }) => ticket)).toEqual(['ticket-1', 'ticket-2']);
    expect(new Set(host.orders.map(({ allocation }) => allocation.id)).size).toBe(1);
  });

  it('I45 a host that refuses the order for its ticket is ordered to stop it, before the claim is released', async () => {
    const host = await world.host('h1');
    const whenStopped: (string | undefined)[] = [];
    world.fate = (call) => {
      host.refuseOnce = 'ticket-expired';
      if (call.url.endsWith('/stop')) whenStopped.push(world.allocations()[0]?.id);
      return 'pass';
    };
    const { events } = await world.scheduler({ id: 'batch-1', enforcement: true });
    await world.submit(makeJob('hello'));
    await world.until(() => events.some(({ kind }) => kind === 'refused-host'), 'the refusal', 5_000);
    const { id } = host.orders[0]?.allocation ?? {};
    expect(host.orders.filter(({ allocation }) => allocation.id === id)).toHaveLength(4);
    expect(host.stops.map((stop) => stop.id)).toEqual([id]);
    expect(whenStopped).toEqual([id]);
    await world.until(() => !world.allocations().some((one) => one.id === id), 'the return of the claim');
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('S4.30 what it took over it starts with a ticket in its own name', async () => {
    const host = await world.host('h1');
    const first = await world.scheduler({ id: 'batch-1', enforcement: true });
    world.fate = (call, from) => (from === 'batch-1' && call.method === 'PUT' ? 'drop-request' : 'pass');
    await world.submit(makeJob('orphan'));
    await world.until(() => world.allocations().length === 1, 'the commit');
    await world.kill(first);
    await world.scheduler({ id: 'batch-2', enforcement: true });
    await world.until(() => host.running.length === 1, 'the start by the successor');
    expect(host.orders[0]?.allocation.scheduler).toBe('batch-2');
    expect(arbiter.requests.at(-1)).toMatchObject({
      scheduler: 'batch-2',
      placements: [{ scheduler: 'batch-2' }],
    });
    expect(world.allocations()[0]?.id).toBe(host.orders[0]?.allocation.id);
  });

  it('S4.17 without an arbiter nothing is claimed and nothing starts, and it continues when one comes', async () => {
    const lonely = new CellWorld();
    try {
      const host = await lonely.host('h1');
      const { scheduler } = await lonely.scheduler({ id: 'batch-1', enforcement: true });
      await lonely.submit(makeJob('hello'));
      await lonely.until(() => scheduler.status().ticketsRefused > 0, 'asking');
      await lonely.clock.advance(5_000);
      expect(lonely.allocations()).toEqual([]);
      await new FakeArbiter(lonely).join();
      await lonely.until(() => host.running.length === 1, 'the start', 15_000);
    } finally {
      await lonely.close();
    }
  });
});

describe('a busy scheduler, whose starts wait', () => {
  const JOBS = 300;
  let world: CellWorld;
  let arbiter: FakeArbiter;
  beforeEach(async () => {
    world = new CellWorld();
    arbiter = await new FakeArbiter(world).join();
    for (let n = 1; n <= 3; n++) await world.host(`h${String(n)}`, 100 * JOBS);
  });
  afterEach(() => world.close());

  const submitAll = (group: Partial<Group> = {}): Promise<unknown> =>
    Promise.all(
      Array.from({ length: JOBS }, (_, n) => world.submit(makeJob(`j${String(n)}`, {}, group, 100))),
    );

  /** Of each allocation, whether it was committed when a ticket was first asked for it. */
  function watchRequests(): ReadonlyMap<string, boolean> {
    const committed = new Map<string, boolean>();
    world.fate = ({ url, body }) => {
      if (!url.endsWith('/v1/tickets')) return 'pass';
      const stored = new Set(world.allocations().map(({ id }) => id));
      for (const { claim } of (body as TicketRequest).placements)
        if (!committed.has(claim.id)) committed.set(claim.id, stored.has(claim.id));
      return 'pass';
    };
    return committed;
  }

  it('S4.14 S4.27 asks for a ticket with the start, once an arbiter has granted all in a namespace without a quota', async () => {
    const committed = watchRequests();
    await world.scheduler({ id: 'batch-1', enforcement: true });
    await submitAll();
    await world.until(() => world.running().length === JOBS, 'the starts');
    expect(new Set(committed.values())).toEqual(new Set([false, true]));
    const orders = [...world.hosts.values()].flatMap((host) => host.orders);
    expect(orders).toHaveLength(JOBS);
    expect(new Set(orders.map(({ ticket }) => ticket)).size).toBe(JOBS);
    expect(arbiter.requests.flatMap(({ placements }) => placements)).toHaveLength(JOBS);
  });

  it('I9 commits nothing without its ticket in a namespace with a quota', async () => {
    arbiter.limited = ['default'];
    const committed = watchRequests();
    await world.scheduler({ id: 'batch-1', enforcement: true });
    await submitAll();
    await world.until(() => world.running().length === JOBS, 'the starts');
    expect([...committed.values()].filter(Boolean)).toEqual([]);
  });

  it('I9 commits nothing without its ticket from the revision on that gives the namespace a quota', async () => {
    const quota = {
      namespace: 'default',
      cpuMilli: null,
      memoryMib: null,
      gpuMilli: null,
      allocations: null,
    };
    const committed = watchRequests();
    const watched = world.fate;
    world.fate = async (...call) => {
      // The arbiter has not heard of it, and grants all.
      if (committed.size === 0) await world.put(keys.quota('default'), quotaCodec.encode(quota));
      return watched(...call);
    };
    const { events } = await world.scheduler({ id: 'batch-1', enforcement: true });
    await submitAll();
    const isRefused = (): boolean =>
      events.some(({ kind, detail }) => kind === 'conflict' && detail.includes('has a quota'));
    await world.until(isRefused, 'a conflict');
    await world.clock.advance(1_000);
    expect(world.allocations()).toEqual([]);
    arbiter.limited = ['default'];
    await world.until(() => world.running().length === JOBS, 'the starts', 60_000);
    expect([...committed.values()].filter(Boolean)).toEqual([]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('S4.12 commits no gang without its tickets', async () => {
    const committed = watchRequests();
    await world.scheduler({ id: 'batch-1', enforcement: true });
    await submitAll({ count: 2, gang: true });
    await world.until(() => world.running().length === 2 * JOBS, 'the starts');
    expect([...committed.values()].filter(Boolean)).toEqual([]);
  });

  it.each([
    ['quota', null],
    ['busy', 1_000],
  ] as const)(
    'S4.12 is refused with %s: what was committed meanwhile waits or is given back, and nothing starts without a ticket',
    async (code, retryAfterMs) => {
      const committed = watchRequests();
      const { events } = await world.scheduler({ id: 'batch-1', enforcement: true });
      await submitAll();
      await world.until(() => committed.size > 0 && world.allocations().length > 0, 'a commit');
      arbiter.refusal = { code, detail: 'no more', retryAfterMs };
      await world.clock.advance(60_000);
      const startedBefore = world.running().length;
      expect(startedBefore).toBeLessThan(JOBS);
      // A quota is no matter of time: claims go back, and only what has its ticket stays.
      if (code === 'quota') expect(world.allocations()).toHaveLength(startedBefore);
      expect(world.ledgersAreTrue()).toBe(true);
      // No host is to blame.
      expect(events.filter(({ kind }) => kind === 'refused-host')).toEqual([]);
      arbiter.refusal = null;
      await world.until(() => world.running().length === JOBS, 'the starts', 120_000);
      expect(world.ledgersAreTrue()).toBe(true);
    },
  );
});
