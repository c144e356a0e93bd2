import { describe, expect, it } from 'vitest';
import type { TicketBody } from '../../../../src/core/quota/ticket.ts';
import { claimOf } from '../../../../src/core/quota/ticket.ts';
import { canonicalJson } from '../../../../src/core/json/canonical-json.ts';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import type { TicketVerifier } from '../../../../src/ports/crypto.ts';
import { silentMetrics } from '../../../../src/adapters/telemetry/silent.ts';
import { DiskError } from '../../../../src/ports/disk.ts';
import type { StartRequest } from '../../../../src/wire/api/host-api.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { CELL_INCARNATION, someStart, someStop, someTask } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';

/** Tickets that are their own body as text: signatures are the adapter's business. */
const plainVerifier: TicketVerifier = {
  verify: async (token) =>
    token.startsWith('{')
      ? { valid: true, body: JSON.parse(token) as TicketBody }
      : { valid: false, reason: 'bad-signature' },
};

async function host(enforced = true): Promise<HostWorld> {
  const world = new HostWorld();
  await world.open({ verifier: enforced ? plainVerifier : null, digest: sha256Hex });
  return world;
}

function withTicket(world: HostWorld, order: StartRequest, changes: Partial<TicketBody> = {}): StartRequest {
  const { allocation } = order;
  const body: TicketBody = {
    jti: `jti-${allocation.id}`,
    aud: 'host-a',
    hostIncarnation: world.agent.host.incarnation,
    notBeforeMs: world.clock.nowMs(),
    expiresMs: world.clock.nowMs() + 30_000,
    namespace: allocation.namespace,
    job: allocation.job,
    scheduler: allocation.scheduler,
    epoch: allocation.epoch,
    claim: claimOf(allocation),
    commandDigest: sha256Hex(canonicalJson(order.launch)),
    ...changes,
  };
  return { ...order, ticket: JSON.stringify(body) };
}

/** The code with which the host refuses; `started` when it does not. */
async function answer(world: HostWorld, order: StartRequest): Promise<string> {
  try {
    await world.agent.start(order);
    return 'started';
  } catch (error) {
    if (error instanceof ProblemError) return error.problem.code;
    throw error;
  }
}

describe('orders to start', () => {
  it('S4.15 S4.16 S4.17 I36 I37 I39 a ticket permits exactly what it says, here, for its time', async () => {
    const world = await host();
    const order = someStart();
    expect(await answer(world, order)).toBe('ticket-missing');
    expect(await answer(world, { ...order, ticket: 'v4.public.x' })).toBe('ticket-invalid');
    expect(await answer(world, withTicket(world, order, { aud: 'host-b' }))).toBe('ticket-other-host');
    expect(await answer(world, withTicket(world, order, { hostIncarnation: 1 }))).toBe('ticket-other-host');
    const late = { expiresMs: world.clock.nowMs() - 2_001 };
    expect(await answer(world, withTicket(world, order, late))).toBe('ticket-expired');
    expect(await answer(world, withTicket(world, order, { scheduler: 'batch-1' }))).toBe(
      'ticket-other-request',
    );
    expect(await answer(world, withTicket(world, order, { commandDigest: 'ab' }))).toBe(
      'ticket-other-request',
    );
    const elsewhere = someStart({ allocation: { host: 'host-b' } });
    expect(await answer(world, withTicket(world, elsewhere))).toBe('ticket-other-host');
    expect(world.agent.listing().allocations).toEqual([]);
    expect(await answer(world, withTicket(world, order))).toBe('started');
  });

  it('I17 an epoch that the store does not know fences nobody off, with a right ticket either', async () => {
    const world = new HostWorld();
    world.epochs = (_host, { counter }) => Promise.resolve(counter <= 2);
    await world.open({ verifier: plainVerifier, digest: sha256Hex });
    const at = (id: string, counter: number): StartRequest => {
      const epoch = { incarnation: CELL_INCARNATION, counter };
      return withTicket(world, someStart({ allocation: { id, epoch } }));
    };
    expect(await answer(world, at('a', 9))).toBe('epoch-unknown');
    expect(await answer(world, at('b', 2))).toBe('started');
    expect(await answer(world, at('a', 3))).toBe('epoch-unknown');
    expect(await answer(world, at('a', 1))).toBe('epoch-old');
  });

  it('S4.19 without enforcement no ticket is asked for, and all else is the same', async () => {
    const world = await host(false);
    const order = someStart({
      allocation: { resources: { cpuMilli: 900, memoryMib: 1, diskMib: 0, scalars: {} } },
    });
    expect(await answer(world, order)).toBe('started');
    expect(await answer(world, { ...order, allocation: { ...order.allocation, id: 'other' } })).toBe(
      'no-fit',
    );
  });

  it('I38 a ticket is used once, also across a loss of the agent; the same request gets its first answer', async () => {
    const world = await host();
    const order = withTicket(world, someStart());
    const other = withTicket(world, someStart(), { jti: `jti-${order.allocation.id}` });
    expect(await answer(world, order)).toBe('started');
    expect(await answer(world, other)).toBe('ticket-used');
    expect(await answer(world, order)).toBe('started');
    await world.loseAgent();
    await world.open({ verifier: plainVerifier, digest: sha256Hex });
    const again = withTicket(world, someStart(), { jti: `jti-${order.allocation.id}` });
    expect(await answer(world, again)).toBe('ticket-used');
    expect(world.processes.running).toEqual([`${order.allocation.id}.main.1`]);
  });

  it('I36 a clock that is set back makes no ticket live longer, also over a restart', async () => {
    const world = await host();
    const order = someStart();
    const expired = { expiresMs: world.clock.nowMs() };
    await world.clock.advance(60_000);
    await world.agent.recordTime();
    await world.loseAgent();
    const back = new HostWorld();
    for (const name of ['identity', 'journal', 'incarnation']) {
      const text = await world.disk.read(name);
      if (text !== null) await back.disk.replace(name, text);
    }
    await back.open({ verifier: plainVerifier, digest: sha256Hex });
    expect(await answer(back, withTicket(back, order, expired))).toBe('ticket-expired');
  });

  it('I17 an order from an older epoch than one already seen is refused, also by the next agent', async () => {
    const world = await host(false);
    const epoch = (counter: number, incarnation = CELL_INCARNATION) => ({
      allocation: { epoch: { incarnation, counter } },
    });
    const first = someStart(epoch(5));
    expect(await answer(world, first)).toBe('started');
    expect(await answer(world, someStart(epoch(4)))).toBe('epoch-old');
    const oldStop = someStop({ epoch: { incarnation: CELL_INCARNATION, counter: 4 } });
    await expect(world.agent.stop(first.allocation.id, oldStop)).rejects.toThrow(/later epoch/);
    await world.loseAgent();
    await world.open();
    expect(await answer(world, someStart(epoch(4)))).toBe('epoch-old');
    expect(await answer(world, someStart(epoch(0, 'restored-cell')))).toBe('started');
    expect(await answer(world, someStart(epoch(9)))).toBe('epoch-old');
  });

  it('I32 a full or failing disk refuses what is new and keeps what is there', async () => {
    const world = await host(false);
    const running = someStart({ tasks: [someTask({ env: { HOLLOW_RUN_MS: '5000' } })] });
    await world.agent.start(running);
    await world.until(running.allocation.id, (report) => report.state === 'running');
    world.disk.setFreeBytes(1024);
    expect(await answer(world, someStart())).toBe('disk-full');
    world.disk.setFreeBytes(2 ** 40);
    world.disk.failWrites(new DiskError('full', 'no space'));
    const refused = someStart();
    expect(await answer(world, refused)).toBe('disk-full');
    expect(world.agent.run(refused.allocation.id)).toBeUndefined();
    expect(world.agent.report(running.allocation.id).state).toBe('running');
    world.disk.failWrites(null);
    expect(await answer(world, someStart())).toBe('started');
    await world.until(running.allocation.id, (report) => report.released);
  });

  it('an end that cannot be recorded yet is recorded when the disk takes it', async () => {
    const world = await host(false);
    const order = someStart();
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.state === 'running');
    await world.processes.end(`${id}.main.1`, { code: 0 });
    world.disk.failWrites(new DiskError('full', 'no space'));
    await world.clock.advance(3_000);
    expect(world.agent.report(id).state).not.toBe('complete');
    world.disk.failWrites(null);
    await world.until(id, (report) => report.state === 'complete' && report.released);
  });

  it('a start that comes after its stop or its removal is refused: it was given up', async () => {
    const world = await host(false);
    const order = someStart();
    const { id } = order.allocation;
    await expect(world.agent.stop(id, someStop())).rejects.toMatchObject({
      problem: { code: 'no-allocation' },
    });
    expect(await answer(world, order)).toBe('stopped');
    await world.loseAgent();
    await world.open();
    expect(await answer(world, order)).toBe('stopped');
  });

  it('S1.10 S1.32 only a released allocation is removed; removing it again, or what was never there, is no error', async () => {
    const world = await host(false);
    const order = someStart();
    const { id } = order.allocation;
    await world.agent.start(order);
    await expect(world.agent.remove(id)).rejects.toMatchObject({
      problem: { code: 'not-released', status: 409 },
    });
    await world.agent.stop(id, someStop());
    await world.until(id, (report) => report.released);
    // A stop keeps what it left on the host.
    expect(await world.disk.list('allocations')).toEqual([id]);
    await world.agent.remove(id);
    await world.agent.remove(id);
    expect(world.agent.listing().allocations).toEqual([]);
    expect(await world.disk.list('attempts')).toEqual([]);
    expect(await world.disk.list('allocations')).toEqual([]);
  });

  it('S3.5 the records of all allocations are counted, and beyond their limit a start is refused until one is removed', async () => {
    const world = new HostWorld();
    const counts: number[] = [];
    const gauge = (name: string, value: number): void => {
      if (name === 'moorage_host_allocations') counts.push(value);
    };
    world.metrics = { ...silentMetrics, gauge };
    await world.open(undefined, { allocationsMax: 2 });
    const [first, second] = [someStart(), someStart()] as const;
    for (const order of [first, second]) await world.agent.start(order);
    const refused = { problem: { code: 'no-fit', detail: 'this host keeps at most 2 allocations' } };
    await expect(world.agent.start(someStart())).rejects.toMatchObject(refused);
    const { id } = first.allocation;
    await world.agent.stop(id, someStop());
    await world.until(id, (report) => report.released);
    // What has ended is a record still, until its scheduler lets the host forget it.
    await expect(world.agent.start(someStart())).rejects.toMatchObject(refused);
    await world.agent.remove(id);
    await world.agent.start(someStart());
    expect(counts).toEqual([1, 2, 1, 2]);
    await world.loseAgent();
    await world.open(undefined, { allocationsMax: 2 });
    expect(counts).toEqual([1, 2, 1, 2, 1, 2]);
  });

  it('two orders under one id: the same is answered again, another one is refused', async () => {
    const world = await host(false);
    const order = someStart();
    const [one, two] = await Promise.all([
      world.agent.start(order),
      world.agent.start({ ...order, commandId: 'again' }),
    ]);
    expect([one.id, two.id]).toEqual([order.allocation.id, order.allocation.id]);
    const other = { ...order, launch: { ...order.launch, deadlineMs: 1 } };
    expect(await answer(world, other)).toBe('bad-request');
  });
});

describe('giving way', () => {
  const large = { cpuMilli: 800, memoryMib: 64, diskMib: 0, scalars: {} };

  it('who evicts waits, accepted, until the other is released, and only then starts', async () => {
    const world = await host(false);
    const victim = someStart({
      allocation: { resources: large, precedence: 10 },
      tasks: [
        someTask({ env: { HOLLOW_IGNORES_SIGNALS: '1' }, stop: { signal: 'SIGTERM', graceMs: 1_000 } }),
      ],
    });
    await world.agent.start(victim);
    await world.until(victim.allocation.id, (report) => report.state === 'running');
    const blocked = someStart({ allocation: { resources: large } });
    expect(await answer(world, blocked)).toBe('no-fit');
    const newcomer = someStart({ allocation: { resources: large, evicts: [victim.allocation.id] } });
    await world.agent.start(newcomer);
    await world.clock.advance(1_000);
    expect(world.agent.report(newcomer.allocation.id).state).toBe('accepted');
    await world.agent.stop(victim.allocation.id, someStop({ mode: 'evict', cause: 'evicted by web' }));
    await world.clock.advance(500);
    expect(world.agent.report(newcomer.allocation.id).state).toBe('accepted');
    const ended = await world.until(victim.allocation.id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'killed', reason: 'evicted by web' });
    await world.until(newcomer.allocation.id, (report) => report.state === 'running');
  });

  it('the waiting outlasts the agent', async () => {
    const world = await host(false);
    const victim = someStart({ allocation: { resources: large, precedence: 10 } });
    await world.agent.start(victim);
    await world.until(victim.allocation.id, (report) => report.state === 'running');
    const newcomer = someStart({ allocation: { resources: large, evicts: [victim.allocation.id] } });
    await world.agent.start(newcomer);
    await world.loseAgent();
    await world.open();
    await world.clock.advance(1_000);
    expect(world.agent.report(newcomer.allocation.id).state).toBe('accepted');
    expect(world.processes.running).toEqual([`${victim.allocation.id}.main.1`]);
    await world.agent.stop(victim.allocation.id, someStop({ mode: 'evict' }));
    await world.until(newcomer.allocation.id, (report) => report.state === 'running');
  });

  it('I1 who came after the one that the other gave way to waits like it, also under the next agent', async () => {
    const world = await host(false);
    const victim = someStart({
      allocation: { resources: large, precedence: 10 },
      tasks: [
        someTask({ env: { HOLLOW_IGNORES_SIGNALS: '1' }, stop: { signal: 'SIGTERM', graceMs: 5_000 } }),
      ],
    });
    await world.agent.start(victim);
    await world.until(victim.allocation.id, (report) => report.state === 'running');
    const evictor = someStart({ allocation: { resources: large, evicts: [victim.allocation.id] } });
    await world.agent.start(evictor);
    await world.agent.stop(victim.allocation.id, someStop({ mode: 'evict' }));
    await world.agent.stop(evictor.allocation.id, someStop());
    await world.until(evictor.allocation.id, (report) => report.released);
    const next = someStart({ allocation: { resources: large } });
    await world.agent.start(next);
    await world.loseAgent();
    await world.open();
    await world.clock.advance(1_000);
    expect(world.agent.report(next.allocation.id).state).toBe('accepted');
    expect(world.processes.running).toEqual([`${victim.allocation.id}.main.1`]);
    await world.until(next.allocation.id, (report) => report.state === 'running');
    expect(world.agent.report(victim.allocation.id).released).toBe(true);
  });

  it('who waits and would not fit even alone, since the host was made smaller, does not wait for ever', async () => {
    const world = await host(false);
    await world.agent.close();
    await world.open({ verifier: null, digest: sha256Hex }, {}, { licence: 1 });
    const licensed = { ...large, scalars: { licence: 1 } };
    const victim = someStart({ allocation: { resources: licensed, precedence: 10 } });
    await world.agent.start(victim);
    await world.until(victim.allocation.id, (report) => report.state === 'running');
    const evictor = someStart({ allocation: { resources: licensed, evicts: [victim.allocation.id] } });
    await world.agent.start(evictor);
    expect(world.agent.report(evictor.allocation.id).state).toBe('accepted');
    await world.loseAgent();
    await world.open();
    await world.agent.stop(victim.allocation.id, someStop({ mode: 'evict' }));
    await world.until(evictor.allocation.id, (report) => report.state === 'running');
  });

  it('who waits can be stopped without having run', async () => {
    const world = await host(false);
    const victim = someStart({ allocation: { resources: large, precedence: 10 } });
    await world.agent.start(victim);
    const newcomer = someStart({ allocation: { resources: large, evicts: [victim.allocation.id] } });
    await world.agent.start(newcomer);
    await world.agent.stop(newcomer.allocation.id, someStop());
    const ended = await world.until(newcomer.allocation.id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'killed', restarts: 0 });
    expect(await world.disk.list('attempts')).toEqual([`${victim.allocation.id}.main.1`]);
  });
});
