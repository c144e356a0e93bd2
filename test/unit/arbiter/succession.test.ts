import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Arbiter } from '../../../arbiter/arbiter.ts';
import type { StartTerms } from '../../../src/core/quota/ticket.ts';
import type { AttemptReply, CellStore } from '../../../src/ports/cell-store.ts';
import { StoreError } from '../../../src/ports/cell-store.ts';
import { allocationCodec, outcomeCodec } from '../../../src/wire/records/records.ts';
import { allocationOf, ArbiterWorld, CELL, GRANT_HELD_MS, reportOf } from '../../support/arbiter-world.ts';
import { someTerms } from '../../support/tickets.ts';

let world: ArbiterWorld;
beforeEach(async () => {
  world = new ArbiterWorld();
  world.addHost('host-a');
  world.addHost('host-b');
  await world.startMonitor();
});
afterEach(() => world.close());

/** A successor knows everything within this time, and a scheduler asks again after it. */
const AT_ONCE_MS = 250;

function terms(n: number, host = 'host-a'): StartTerms {
  const base = someTerms({ aud: host });
  const id = `01k0000000aaaaaaaaaaaa${String(n).padStart(4, '0')}`;
  return { ...base, claim: { ...base.claim, id, gpus: [], ports: {} } };
}

async function ask(arbiter: Arbiter, ...placements: StartTerms[]): Promise<readonly string[]> {
  const { answers } = await arbiter.tickets({ scheduler: 'service-1', placements });
  return answers.map((answer) => ('ticket' in answer ? 'granted' : answer.refusal.code));
}

const keyOf = ({ namespace, job, claim }: StartTerms): string => CELL.allocation(namespace, job, claim.id);
const commit = (one: StartTerms) => world.put(keyOf(one), allocationCodec.encode(allocationOf(one)));

/** @param startedAtMs absent: it never ran */
async function release(one: StartTerms, startedAtMs?: number): Promise<void> {
  const { namespace, job, scheduler, claim } = one;
  await world.remove(keyOf(one));
  const outcome = {
    ...{ allocation: claim.id, namespace, job, jobVersion: 1, group: 'web', index: 0, attempt: 1 },
    ...{ host: one.aud, scheduler, state: 'complete', reason: '', endedAtMs: 0, restarts: 0 },
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
  };
  await world.put(CELL.outcome(namespace, job, claim.id), outcomeCodec.encode(outcome));
}

const batches = () => world.namesUnder(CELL.grantBatches);

/** An arbiter that keeps the quota of two allocations, which is covered. */
async function keeper(through?: (store: CellStore) => CellStore): Promise<Arbiter> {
  const { arbiter } = await world.startArbiter('arbiter-1', through);
  await world.clock.advance(GRANT_HELD_MS);
  await world.setQuota({ namespace: 'default', allocations: 2 });
  await world.clock.advance(AT_ONCE_MS);
  return arbiter;
}

/** The keeper is gone as after kill -9, and its session has ended; another arbiter was standing by. */
async function succeeds(first: Arbiter): Promise<Arbiter> {
  const { arbiter } = await world.startArbiter('arbiter-2');
  await world.clock.advance(1_000);
  await first.close();
  await world.clock.advance(AT_ONCE_MS);
  return arbiter;
}

describe('a successor of the keeper', () => {
  it('S4.18 I40 goes on at once, and counts what was granted and not used', async () => {
    const first = await keeper();
    expect(await ask(first, terms(1))).toEqual(['granted']);
    const second = await succeeds(first);
    expect(await ask(second, terms(2), terms(3))).toEqual(['granted', 'quota']);
    expect(await ask(second, terms(1))).toEqual(['granted']);
    await world.clock.advance(GRANT_HELD_MS + 2_000);
    expect(await ask(second, terms(3), terms(4))).toEqual(['granted', 'granted']);
  });

  it('S4.18 counts what is used once, and what has ended not at all', async () => {
    const first = await keeper();
    expect(await ask(first, terms(1), terms(2))).toEqual(['granted', 'granted']);
    for (const one of [terms(1), terms(2)]) await commit(one);
    world.report(reportOf(terms(1)));
    // The first arbiter hears nothing of this one: its record stays.
    await release(terms(2), 1);
    await world.clock.advance(0);
    const second = await succeeds(first);
    expect(second.grants().namespaces).toMatchObject([
      { used: { allocations: 1 }, granted: { allocations: 0 } },
    ]);
    expect(await ask(second, terms(3), terms(4))).toEqual(['granted', 'quota']);
  });

  it('I41 counts what was never begun until its ticket has ended, though its claim was released', async () => {
    const first = await keeper();
    expect(await ask(first, terms(1))).toEqual(['granted']);
    await commit(terms(1));
    await release(terms(1));
    const second = await succeeds(first);
    expect(await ask(second, terms(2), terms(3))).toEqual(['granted', 'quota']);
  });

  it('S4.18 I40 counts what is committed and not reported yet, though its record is gone', async () => {
    const first = await keeper();
    await commit(terms(1));
    const second = await succeeds(first);
    expect(await ask(second, terms(2), terms(3))).toEqual(['granted', 'quota']);
    // Its host reports, and does not have it.
    await world.clock.advance(8_000);
    expect(await ask(second, terms(3))).toEqual(['granted']);
  });

  it('I40 a keeper that was replaced without knowing it grants nothing any more', async () => {
    const first = await keeper();
    const { arbiter: second } = await world.startArbiter('arbiter-2');
    await world.clock.advance(1_000);
    expect(await ask(second, terms(1))).toEqual(['standby']);
    // As if the session of the first one had ended, while that one was paused.
    await world.remove(CELL.quotaKeeper);
    const late = first.tickets({ scheduler: 'service-1', placements: [terms(1), terms(2)] });
    await world.clock.advance(AT_ONCE_MS);
    const { answers } = await late;
    expect(answers.map((answer) => ('ticket' in answer ? 'granted' : answer.refusal.code))).toEqual([
      'standby',
      'standby',
    ]);
    expect(await ask(second, terms(3), terms(4))).toEqual(['granted', 'granted']);
    expect(await batches()).toHaveLength(1);
  });

  it('a keeper that was replaced keeps its new session, and writes nothing of its time any more', async () => {
    const first = await keeper();
    expect(await ask(first, terms(1))).toEqual(['granted']);
    await world.startArbiter('arbiter-2');
    await world.clock.advance(1_000);
    await world.remove(CELL.quotaKeeper);
    await world.clock.advance(AT_ONCE_MS);
    expect(await ask(first, terms(2))).toEqual(['standby']);
    world.report(reportOf(terms(1)));
    await world.clock.advance(3_000);
    const { revision } = world.cell;
    await world.clock.advance(5_000);
    expect(world.cell.revision).toBe(revision);
    expect(first.missing).toEqual([]);
    expect(await batches()).toEqual([]);
  });

  it('an arbiter that is started again takes the quotas over before its last session has ended', async () => {
    const { arbiter: first, store } = await world.startArbiter('arbiter-1');
    await world.clock.advance(GRANT_HELD_MS);
    await world.setQuota({ namespace: 'default', allocations: 2 });
    await world.clock.advance(AT_ONCE_MS);
    expect(await ask(first, terms(1))).toEqual(['granted']);
    // Its session is not ended: nobody renews it any more.
    await store.close();
    const { arbiter: again } = await world.startArbiter('arbiter-1');
    await world.clock.advance(AT_ONCE_MS);
    expect(await ask(again, terms(2), terms(3))).toEqual(['granted', 'quota']);
  });
});

describe('what is granted against a quota', () => {
  type Fault = (write: () => Promise<AttemptReply>) => AttemptReply | Promise<AttemptReply>;

  /** A store whose next writes of grants end so. */
  function faulty(outcomes: Fault[]) {
    return (store: CellStore): CellStore =>
      new Proxy(store, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          if (name !== 'attempt') return (value as () => unknown).bind(target);
          return async (attempt: Parameters<CellStore['attempt']>[0]) => {
            const isGrant = attempt.writes.some(
              ({ kind, key }) => kind === 'put' && key.startsWith(CELL.grantBatches),
            );
            const fault = isGrant ? outcomes.shift() : undefined;
            const write = () => target.attempt(attempt);
            return fault === undefined ? write() : fault(write);
          };
        },
      });
  }

  it('is in the store before it is answered, and is not granted when the store does not take it', async () => {
    const outcomes: Fault[] = [];
    const arbiter = await keeper(faulty(outcomes));
    outcomes.push(() => {
      throw new StoreError('no-space', 'full', { retryable: true });
    });
    expect(await ask(arbiter, terms(1), terms(2))).toEqual(['busy', 'busy']);
    expect(await batches()).toEqual([]);
    expect(await ask(arbiter, terms(3), terms(4))).toEqual(['granted', 'granted']);
    expect(await batches()).toHaveLength(1);
  });

  it('is not granted when nobody knows whether it is in the store, and is deleted there', async () => {
    const outcomes: Fault[] = [];
    const arbiter = await keeper(faulty(outcomes));
    outcomes.push(async (write) => {
      expect((await write()).outcome).toBe('applied');
      return { outcome: 'unknown', cause: new Error('cut') };
    });
    expect(await ask(arbiter, terms(1))).toEqual(['busy']);
    expect(await batches()).toHaveLength(1);
    expect(await ask(arbiter, terms(2), terms(3), terms(4))).toEqual(['granted', 'granted', 'quota']);
    expect(await batches()).toHaveLength(1);
  });

  it('leaves the store when it is used, and when it can no longer be used', async () => {
    const arbiter = await keeper();
    expect(await ask(arbiter, terms(1))).toEqual(['granted']);
    expect(await ask(arbiter, terms(2))).toEqual(['granted']);
    expect(await batches()).toHaveLength(2);
    world.report(reportOf(terms(1)));
    await world.clock.advance(1_500);
    expect(await batches()).toHaveLength(1);
    await world.clock.advance(GRANT_HELD_MS + 2_000);
    expect(await batches()).toEqual([]);
  });

  it('what is granted in one turn goes in one write, and a namespace without a quota writes nothing', async () => {
    const arbiter = await keeper();
    const before = world.cell.revision;
    const free = { ...terms(9), namespace: 'free' };
    expect(await ask(arbiter, free)).toEqual(['granted']);
    expect(world.cell.revision).toBe(before);
    expect(await Promise.all([ask(arbiter, terms(1)), ask(arbiter, terms(2))])).toEqual([
      ['granted'],
      ['granted'],
    ]);
    expect(world.cell.revision).toBe(before + 1);
  });

  it('is recorded from the beginning of the quota on, with what was granted just before it', async () => {
    const { arbiter: first } = await world.startArbiter('arbiter-1');
    await world.clock.advance(GRANT_HELD_MS);
    expect(await ask(first, terms(1))).toEqual(['granted']);
    expect(await batches()).toEqual([]);
    await world.setQuota({ namespace: 'default', allocations: 2 });
    await world.clock.advance(AT_ONCE_MS);
    expect(await batches()).toHaveLength(1);
    expect(await world.namesUnder(CELL.coveredNamespaces)).toEqual(['default']);
    const second = await succeeds(first);
    expect(await ask(second, terms(2), terms(3))).toEqual(['granted', 'quota']);
    await world.remove(CELL.quota('default'));
    await world.clock.advance(AT_ONCE_MS);
    expect(await world.namesUnder(CELL.coveredNamespaces)).toEqual([]);
  });

  it('of a quota that was removed and set again is not known: others granted meanwhile', async () => {
    const first = await keeper();
    const { arbiter: second } = await world.startArbiter('arbiter-2');
    await world.clock.advance(1_000);
    await world.remove(CELL.quota('default'));
    await world.clock.advance(0);
    expect(await ask(second, terms(1))).toEqual(['granted']);
    await world.setQuota({ namespace: 'default', allocations: 1 });
    await world.clock.advance(0);
    expect(await ask(first, terms(2))).toEqual(['starting']);
    await world.clock.advance(GRANT_HELD_MS + 2_000);
    expect(await ask(first, terms(2))).toEqual(['granted']);
  });
});
