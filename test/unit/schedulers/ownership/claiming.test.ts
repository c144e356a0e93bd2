import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt, AttemptReply, CellStore } from '../../../../src/ports/cell-store.ts';
import type { Clock } from '../../../../src/ports/clock.ts';
import { ownerRank, STEP_IN_MS } from '../../../../src/core/cell/ownership.ts';
import { outcomeCodec } from '../../../../src/wire/records/records.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

/** A store that holds the creation of owner keys back until the test releases them. */
class SlowTakes {
  readonly held: (() => void)[] = [];
  readonly sizes: number[] = [];
  /** Owner keys of each. */
  readonly asked: (readonly string[])[] = [];
  open = false;
  reads = 0;

  readonly wrap = (store: CellStore): CellStore =>
    withCalls(store, {
      attempt: (attempt) => this.#attempt(store, attempt),
      listMany: (...asked) => {
        this.reads += 1;
        return store.listMany(...asked);
      },
    });

  async #attempt(store: CellStore, attempt: Attempt): Promise<AttemptReply> {
    const isTake = attempt.writes.some(({ kind, key }) => kind === 'put' && key.startsWith(keys.owners));
    if (!isTake) return store.attempt(attempt);
    this.sizes.push(attempt.writes.length);
    this.asked.push(attempt.writes.map(({ key }) => key.slice(keys.owners.length)));
    if (!this.open) await new Promise<void>((resolve) => this.held.push(resolve));
    return store.attempt(attempt);
  }
}

/** A store that answers the creation of owner keys late, and counts what was refused since another owner was there. */
class LateTakes {
  readonly asked: string[] = [];
  refused = 0;
  readonly #clock: Clock;
  readonly #delayMs: number;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  readonly wrap = (store: CellStore): CellStore =>
    withCalls(store, { attempt: (attempt) => this.#attempt(store, attempt) });

  async #attempt(store: CellStore, attempt: Attempt): Promise<AttemptReply> {
    const taken = attempt.writes.filter(({ kind, key }) => kind === 'put' && key.startsWith(keys.owners));
    if (taken.length === 0) return store.attempt(attempt);
    this.asked.push(...taken.map(({ key }) => key.slice(keys.owners.length)));
    await new Promise<void>((resolve) => void this.#clock.after(this.#delayMs, resolve));
    const reply = await store.attempt(attempt);
    if (reply.outcome === 'refused' && taken.some(({ key }) => reply.found.has(key))) this.refused += 1;
    return reply;
  }
}

describe('taking jobs', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  it('asks for many new jobs in several full transactions at once, and for none of them twice', async () => {
    const jobs = 1_000;
    const slow = new SlowTakes();
    await world.host('h1', 1_000_000);
    for (let i = 0; i < jobs; i++) await world.submit(makeJob(`job-${String(i)}`, {}, {}, 1));
    await world.scheduler({ id: 'batch-1' }, slow.wrap);
    await world.until(() => slow.held.length > 1, 'takes side by side');
    const full = world.store.limits.operationsMax;
    expect(slow.sizes.every((size) => size === full)).toBe(true);
    slow.open = true;
    for (const go of slow.held.splice(0)) go();
    await world.until(() => world.allocations().length === jobs, 'every job placed');
    expect(slow.sizes.reduce((sum, size) => sum + size, 0)).toBe(jobs);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('S3.47 takes a few jobs of one tenant beside hundreds of another', async () => {
    const slow = new SlowTakes();
    await world.host('h1', 1_000_000);
    for (let i = 0; i < 500; i++) await world.submit(makeJob(`job-${String(i)}`, {}, {}, 1));
    for (let i = 0; i < 10; i++)
      await world.submit(makeJob(`job-${String(i)}`, { namespace: 'small' }, {}, 1));
    await world.scheduler({ id: 'batch-1' }, slow.wrap);
    await world.until(() => slow.held.length > 0, 'the first take');
    const small = (slow.asked[0] ?? []).filter((key) => key.startsWith('small/'));
    expect(small).toHaveLength(10);
    slow.open = true;
    for (const go of slow.held.splice(0)) go();
    await world.until(() => world.allocations().length === 510, 'every job placed');
    expect(slow.asked.flat().length).toBe(new Set(slow.asked.flat()).size);
  });

  it('reads nothing of a job that it saw come, when the take proves that there is nothing', async () => {
    const slow = new SlowTakes();
    slow.open = true;
    await world.host('h1');
    await world.scheduler({ id: 'batch-1' }, slow.wrap);
    await world.until(() => world.schedulersAlive().length === 1, 'a scheduler');
    await world.clock.advance(1_000);
    await world.submit(makeJob('new'));
    await world.until(() => world.allocations().length === 1, 'a placement');
    expect(slow.reads).toBe(0);
  });

  it('leaves a burst to those whose jobs they are, as long as they take them', async () => {
    const jobs = 400;
    world.limits.operationsMax = 32;
    const slow = new LateTakes(world.clock, STEP_IN_MS * 0.8);
    const quick = new LateTakes(world.clock, 0);
    await world.host('h1', 1_000_000);
    await world.scheduler({ id: 'batch-1' }, quick.wrap);
    await world.scheduler({ id: 'batch-2' }, slow.wrap);
    await world.until(() => world.schedulersAlive().length === 2, 'both');
    await world.clock.advance(1_000);
    for (let i = 0; i < jobs; i++) await world.submit(makeJob(`job-${String(i)}`, {}, {}, 1));
    const startMs = world.clock.monotonicMs();
    await world.until(() => world.allocations().length === jobs, 'every job placed');
    expect(world.clock.monotonicMs() - startMs).toBeGreaterThan(3 * STEP_IN_MS);
    expect(quick.refused + slow.refused).toBe(0);
    const firstOf = (job: string): string =>
      ownerRank(job, ['batch-1', 'batch-2'], 'batch-1') === 0 ? 'batch-1' : 'batch-2';
    expect(new Set(quick.asked.map(firstOf))).toEqual(new Set(['batch-1']));
    expect(new Set(slow.asked.map(firstOf))).toEqual(new Set(['batch-2']));
  });

  it('I24 gives back the key of a job that went while it was taken, and takes the next of that name', async () => {
    const slow = new SlowTakes();
    await world.host('h1');
    await world.scheduler({ id: 'batch-1' }, slow.wrap);
    await world.submit(makeJob('one'));
    await world.until(() => slow.held.length === 1, 'the take');
    const key = keys.job('default', 'one');
    await world.store.attempt({ compares: [], writes: [{ kind: 'delete', key }], readBack: [] });
    await world.clock.advance(100);
    slow.open = true;
    for (const go of slow.held.splice(0)) go();
    await world.clock.advance(100);
    expect(world.owners()).toEqual([]);
    await world.submit(makeJob('one'));
    await world.until(() => world.allocations().length === 1, 'a placement');
  });

  it('I24 places a job whose record could not be read when it was taken, once it can be', async () => {
    await world.host('h1');
    await world.scheduler({ id: 'batch-1' });
    const job = '"namespace":"default","name":"odd","type":"batch","precedence":50,"scheduler":"auto"';
    await world.put(keys.job('default', 'odd'), `{"v":1,"job":{${job}}}`);
    await world.until(() => world.owners().length === 1, 'an owner');
    await world.submit(makeJob('odd'));
    await world.until(() => world.allocations().length === 1, 'a placement');
  });

  it('I12 I22 fills no slot of a job of which something cannot be read, and continues when it can be', async () => {
    const host = await world.host('h1');
    host.behaviour = (order) => (order.allocation.job === 'ended' ? 'complete' : 'run');
    const first = await world.scheduler({ id: 'batch-1' });
    const runs = makeJob('runs', {}, { count: 2 });
    for (const job of [runs, makeJob('ended')]) await world.submit(job);
    await world.until(() => world.outcomes().length === 1 && host.running.length === 2, 'both jobs');
    await world.kill(first);
    const damaged = [...world.under(keys.allocations).slice(0, 1), ...world.under(keys.outcomes)];
    for (const { key } of damaged) await world.put(key, '{"v":1}');
    await world.scheduler({ id: 'batch-2' });
    await world.submit(makeJob('other'));
    await world.until(() => host.running.some(({ job }) => job === 'other'), 'what can be read');
    await world.clock.advance(30_000);
    expect(host.starts).toHaveLength(4);
    for (const { key, value } of damaged) await world.put(key, value);
    await world.submit({ ...runs, groups: makeJob('runs', {}, { count: 3 }).groups }, 2);
    await world.until(() => host.running.filter(({ job }) => job === 'runs').length === 3, 'one more');
    expect(host.starts).toHaveLength(5);
  });

  it('I55 stops what can be read of a job, and keeps it until the rest can be', async () => {
    const host = await world.host('h1');
    const first = await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('runs', {}, { count: 3 }));
    await world.until(() => host.running.length === 3, 'the job');
    await world.kill(first);
    const [damaged] = world.under(keys.allocations);
    if (damaged === undefined) throw new Error('there are allocations');
    await world.put(damaged.key, '{"v":1}');
    const { events } = await world.scheduler({ id: 'batch-2' });
    await world.until(() => events.some(({ kind }) => kind === 'owned'), 'another owner');
    await world.submit(makeJob('runs', {}, { count: 3 }), 1, 'stop');
    await world.until(() => host.running.length === 1, 'the end of the others');
    await world.clock.advance(30_000);
    expect(host.running.map(({ id }) => damaged.key.endsWith(id))).toEqual([true]);
    expect(world.owners()).toEqual(['default/runs']);
    await world.put(damaged.key, damaged.value);
    await world.until(() => world.owners().length === 0, 'its end');
    expect(host.running).toEqual([]);
    expect(host.starts).toHaveLength(3);
  });

  it('I24 a job that looks new and has ended is taken and read, and not run again', async () => {
    const host = await world.host('h1');
    host.behaviour = () => 'complete';
    const { events } = await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('one'));
    await world.until(() => world.outcomes().length === 1 && world.owners().length === 0, 'its end');
    const [outcome] = world.outcomes();
    if (outcome === undefined) throw new Error('there is an outcome');
    const ended = { ...outcome, job: 'two' };
    await world.put(keys.outcome('default', 'two', ended.allocation), outcomeCodec.encode(ended));
    await world.submit(makeJob('two', { groups: makeJob('one').groups }));
    const isFinished = (): boolean => events.some(({ kind, job }) => kind === 'finished' && job === 'two');
    await world.until(isFinished, 'giving it up');
    expect(host.starts).toHaveLength(1);
    expect(world.outcomes()).toHaveLength(2);
  });
});
