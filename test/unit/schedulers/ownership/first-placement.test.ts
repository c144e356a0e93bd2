import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt, AttemptReply, CellStore } from '../../../../src/ports/cell-store.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import { ledgerCodec, ownerCodec } from '../../../../src/wire/records/records.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';
import { FakeArbiter } from '../fake-arbiter.ts';

const puts = ({ writes }: Attempt, prefix: string): boolean =>
  writes.some(({ kind, key }) => kind === 'put' && key.startsWith(prefix));

/** A store in whose transactions the test sees which jobs are claimed, and with how many placements. */
class SeenClaims {
  readonly seen: { readonly jobs: readonly string[]; readonly placed: number }[] = [];
  /** Just before, instead of, or after a claim with a placement. */
  meanwhile: (attempt: Attempt, send: () => Promise<AttemptReply>) => Promise<AttemptReply> = (_, send) =>
    send();

  readonly wrap = (store: CellStore): CellStore =>
    withCalls(store, {
      attempt: (attempt) => {
        const send = (): Promise<AttemptReply> => store.attempt(attempt);
        if (!puts(attempt, keys.owners)) return send();
        const written = (prefix: string): string[] =>
          attempt.writes.map(({ key }) => key).filter((key) => key.startsWith(prefix));
        const placed = written(keys.allocations).length;
        this.seen.push({ jobs: written(keys.owners).map((key) => key.slice(keys.owners.length)), placed });
        return placed === 0 ? send() : this.meanwhile(attempt, send);
      },
    });
}

let world: CellWorld;
let claims: SeenClaims;
beforeEach(async () => {
  world = new CellWorld();
  claims = new SeenClaims();
  await world.host('h1');
});
afterEach(() => world.close());

/** A scheduler that sees the job come. */
async function submitted(job: Job): Promise<Awaited<ReturnType<CellWorld['scheduler']>>> {
  const member = await world.scheduler({ id: 'batch-1' }, claims.wrap);
  await world.until(() => world.schedulersAlive().length === 1, 'a scheduler');
  await world.clock.advance(1_000);
  await world.submit(job);
  return member;
}

const running = (count: number) => (): boolean => world.running().length === count;

describe('a job that comes alone', () => {
  it('I7 S4.27 is placed by the transaction that claims it', async () => {
    const { events, scheduler } = await submitted(makeJob('one', {}, { count: 2 }));
    await world.until(running(2), 'the starts');
    expect(claims.seen).toEqual([{ jobs: ['default/one'], placed: 2 }]);
    expect(events.map(({ kind }) => kind).slice(0, 3)).toEqual(['owned', 'placed', 'placed']);
    expect(scheduler.status()).toMatchObject({ pending: 0, committed: 2 });
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it.each([
    ['more slots than are worth it', makeJob('one', {}, { count: 17 }, 10), 17],
    ['a gang', makeJob('one', {}, { count: 2, gang: true }), 2],
    ['slots without a place', makeJob('one', {}, { count: 5 }), 4],
  ])('is claimed first where it has %s', async (_, job, count) => {
    await submitted(job);
    await world.until(running(count), 'the starts');
    expect(claims.seen).toEqual([{ jobs: ['default/one'], placed: 0 }]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('is claimed with others where there are others', async () => {
    await submitted(makeJob('one'));
    await world.until(running(1), 'the first');
    await Promise.all(['two', 'three'].map((name) => world.submit(makeJob(name))));
    await world.until(running(3), 'the others');
    expect(claims.seen.slice(1)).toEqual([{ jobs: ['default/two', 'default/three'], placed: 0 }]);
  });

  it('I1 is claimed first, and placed anew, when another scheduler was faster at its host', async () => {
    await world.host('h2');
    claims.meanwhile = async (attempt, send) => {
      for (const { key } of attempt.compares)
        if (key.startsWith(keys.ledgers)) {
          const ledger = world.ledger(key.slice(keys.ledgers.length));
          await world.put(key, ledgerCodec.encode({ ...ledger, counter: ledger.counter + 1 }));
        }
      return send();
    };
    await submitted(makeJob('one'));
    await world.until(running(1), 'the start');
    expect(claims.seen.map(({ placed }) => placed)).toEqual([1, 0]);
    expect(world.allocations()).toHaveLength(1);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('I7 is left to the scheduler that claimed it meanwhile', async () => {
    const session = await world.store.openSession({ ttlMs: 60_000 });
    claims.meanwhile = async (_, send) => {
      const value = ownerCodec.encode({ scheduler: 'batch-9', kind: 'batch', sinceMs: 0 });
      const put = { kind: 'put' as const, key: keys.owner('default', 'one'), value, session };
      await world.store.attempt({ compares: [], writes: [put], readBack: [] });
      return send();
    };
    const { events } = await submitted(makeJob('one'));
    await world.clock.advance(5_000);
    expect(world.allocations()).toEqual([]);
    expect(events).toEqual([]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it.each([
    ['applied', true],
    ['not applied', false],
  ])(
    'I5 I12 has one allocation when the answer is lost, and the transaction was %s',
    async (_, isApplied) => {
      let lost = 0;
      claims.meanwhile = async (_attempt, send) => {
        lost += 1;
        if (lost > 1) return send();
        if (isApplied) await send();
        return { outcome: 'unknown', cause: new Error('the answer is lost') };
      };
      const { events } = await submitted(makeJob('one'));
      await world.until(running(1), 'the start');
      await world.clock.advance(20_000);
      expect(lost).toBe(isApplied ? 1 : 2);
      expect(world.allocations()).toHaveLength(1);
      expect(events.filter(({ kind }) => kind === 'owned')).toHaveLength(1);
      expect(world.ledgersAreTrue()).toBe(true);
    },
  );

  it('I24 I55 ends, and leaves no owner, when its record goes while it is claimed', async () => {
    claims.meanwhile = async (_, send) => {
      const key = keys.job('default', 'one');
      await world.store.attempt({ compares: [], writes: [{ kind: 'delete', key }], readBack: [] });
      await world.clock.advance(100);
      return send();
    };
    await submitted(makeJob('one'));
    await world.until(() => claims.seen.length > 0, 'its claim');
    await world.until(() => world.owners().length + world.allocations().length === 0, 'its end');
    expect(world.running()).toEqual([]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('I12 I48 runs its newer version, when it is changed while it is claimed', async () => {
    claims.meanwhile = async (_, send) => {
      await world.submit(makeJob('one', {}, { count: 3 }), 2);
      await world.clock.advance(100);
      return send();
    };
    await submitted(makeJob('one', {}, { count: 2 }));
    await world.until(() => world.running().length === 3, 'the starts');
    await world.clock.advance(5_000);
    expect(world.allocations().filter(({ desired }) => desired === 'run')).toHaveLength(3);
    expect(world.ledgersAreTrue()).toBe(true);
  });
});

describe('a job that comes alone and needs tickets', () => {
  const submit = async (name: string): Promise<void> => {
    const before = world.running().length;
    await world.submit(makeJob(name, {}, {}, 100));
    await world.until(running(before + 1), 'the start');
    await world.clock.advance(10_000);
  };

  it('S4.14 gets them before its commit, until an arbiter has granted all in a namespace without a quota', async () => {
    const arbiter = await new FakeArbiter(world).join();
    await world.scheduler({ id: 'batch-1', enforcement: true }, claims.wrap);
    await world.until(() => world.schedulersAlive().length === 2, 'a scheduler');
    await world.clock.advance(1_000);
    for (const name of ['one', 'two']) await submit(name);
    expect(claims.seen.map(({ placed }) => placed)).toEqual([0, 1]);
    arbiter.limited = ['default'];
    for (const name of ['three', 'four']) await submit(name);
    expect(claims.seen.map(({ placed }) => placed)).toEqual([0, 1, 1, 0]);
    expect(arbiter.requests).toHaveLength(4);
  });
});
