import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { BudgetPolicy } from '../../../../src/core/quota/budgets.ts';
import type { Group, Job } from '../../../../src/core/cell/job.ts';
import type { Eligibility } from '../../../../src/core/host/host.ts';
import { budgetPolicyCodec } from '../../../../src/wire/budgets/budget-records.ts';
import { eligibilityCodec, roleCodec } from '../../../../src/wire/records/records.ts';
import { makeGroup } from '../../core/placement/placement-fixtures.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld;
beforeEach(() => (world = new CellWorld()));
afterEach(() => world.close());

const allow = (policy: BudgetPolicy): Promise<void> =>
  world.put(keys.budgets, budgetPolicyCodec.encode(policy));
const wantedOn = (host: string): number =>
  world.allocations().filter((one) => one.host === host && one.desired === 'run').length;
const running = (job: string): number => world.running().filter((one) => one.job === job).length;

async function whyOf(job: string): Promise<string> {
  const { address } = roleCodec.decode(world.cell.get(keys.role('scheduler', 's'))?.value ?? '');
  const why = await new SchedulerClient(world.network.client()).why(address, 'default', job);
  return why?.summary ?? '';
}

function service(name: string, group: Partial<Group> = {}): Job {
  const { reschedule } = makeGroup({});
  return makeJob(
    name,
    { type: 'service' },
    { minHealthyMs: 100, reschedule: { ...reschedule, onHostLost: true }, ...group },
    500,
  );
}

/** Four instances of web run on h1; h2 is empty. */
async function runWeb(): Promise<void> {
  await world.host('h1', 2_000);
  await world.scheduler({ id: 's', kind: 'service' });
  await world.submit(service('web', { count: 4 }));
  await world.until(() => running('web') === 4, 'web runs');
  await world.host('h2', 2_000);
}

describe("S3.40 I76 the cell's budgets", () => {
  it('have replacements of what was on a lost host wait, say so, and go on by themselves', async () => {
    await allow({ replacements: { burst: 1, perHour: 180 } });
    await runWeb();
    await world.lose('h1');
    await world.clock.advance(4_000);
    expect([wantedOn('h1'), wantedOn('h2')]).toEqual([3, 1]);
    expect(await whyOf('web')).toContain(
      "3 replacements: waits for the cell's budget of replacements, 1 at once and 180 an hour",
    );
    await world.clock.advance(20_000);
    expect([wantedOn('h1'), wantedOn('h2')]).toEqual([2, 2]);
    await world.clock.advance(45_000);
    expect([wantedOn('h1'), wantedOn('h2')]).toEqual([0, 4]);
  });

  it('let pass what an operator says of a lost host himself', async () => {
    await allow({ replacements: { burst: 1, perHour: 1 } });
    await runWeb();
    await world.lose('h1', { confirmed: 'lost' });
    await world.clock.advance(4_000);
    expect(wantedOn('h2')).toBe(4);
  });

  it('have moves off a draining host wait, before one more is started first, until its deadline', async () => {
    await allow({ moves: { burst: 1, perHour: 120 } });
    await world.host('h1', 4_000);
    await world.scheduler({ id: 's', kind: 'service' });
    const names = ['a', 'b', 'c'];
    for (const name of names)
      await world.submit(service(name, { count: 1, update: { strategy: 'start-first' } }));
    await world.until(() => names.every((name) => running(name) === 1), 'all run');
    await world.host('h2', 4_000);
    const drained = async (more: Partial<Eligibility>): Promise<void> => {
      const { counter } = world.ledger('h1');
      const verdict = { state: 'draining', reason: '', by: 'ada', sinceMs: world.clock.nowMs() } as const;
      await world.put(
        keys.eligibilityOf('h1'),
        eligibilityCodec.encode({ ...verdict, counter: counter + 1, ...more }),
      );
      await world.setEligibility('h1', 'draining');
    };
    await drained({});
    await world.clock.advance(10_000);
    expect([wantedOn('h1'), wantedOn('h2')]).toEqual([2, 1]);
    await world.clock.advance(30_000);
    expect([wantedOn('h1'), wantedOn('h2')]).toEqual([1, 2]);
    expect(
      await whyOf(
        names.find((name) => world.allocations().some((one) => one.job === name && one.host === 'h1')) ?? '',
      ),
    ).toContain("1 move: waits for the cell's budget of moves");
    await drained({ drainDeadlineMs: world.clock.nowMs() + 1_000 });
    await world.clock.advance(4_000);
    expect([wantedOn('h1'), wantedOn('h2')]).toEqual([0, 3]);
  });

  it('have preemption wait, say so, and go on by itself; a gang of more victims than may ever be says that', async () => {
    await allow({ evictions: { burst: 1, perHour: 120 } });
    for (const id of ['h1', 'h2']) await world.host(id, 1_000);
    await world.scheduler({ id: 's' });
    await world.submit(makeJob('low', { precedence: 10 }, { count: 4 }, 500));
    await world.until(() => running('low') === 4, 'low fills the hosts');
    await world.submit(makeJob('high', { precedence: 80 }, { count: 2 }, 500));
    await world.clock.advance(10_000);
    expect(running('high')).toBe(1);
    expect(await whyOf('high')).toContain("no preemption: waits for the cell's budget of evictions");
    await world.clock.advance(30_000);
    expect(running('high')).toBe(2);
    await world.submit(makeJob('huge', { precedence: 90 }, { count: 2, gang: true }, 500));
    await world.clock.advance(60_000);
    expect(running('huge')).toBe(0);
    expect(await whyOf('huge')).toContain('needs 2 evictions at once, more than');
  });

  it('have what was in one rack wait, by the label that an operator gave its host, and let the other go on', async () => {
    const per = { attribute: 'rack', burst: 1, perHour: 180 };
    await allow({ replacements: { burst: 50, perHour: 1_000, per } });
    for (const [id, rack] of [
      ['h1', 'r1'],
      ['h2', 'r1'],
    ] as const)
      await world.host(id, 1_000, { rack });
    await world.scheduler({ id: 's', kind: 'service' });
    await world.submit(service('web', { count: 4 }));
    await world.until(() => running('web') === 4, 'web runs');
    await world.host('h3', 2_000, { rack: 'r3' });
    await world.lose('h1');
    await world.lose('h2', { labels: { rack: 'r2' } });
    await world.clock.advance(4_000);
    expect([wantedOn('h1'), wantedOn('h2'), wantedOn('h3')]).toEqual([1, 1, 2]);
    expect(await whyOf('web')).toContain(
      'waits for the budget of replacements of rack r2, 1 at once and 180 an hour',
    );
    await world.clock.advance(25_000);
    expect([wantedOn('h1'), wantedOn('h2'), wantedOn('h3')]).toEqual([0, 0, 4]);
  });

  it('have preemption take the tokens of all racks in which its victims are, or none', async () => {
    await allow({ evictions: { per: { attribute: 'rack', burst: 1, perHour: 120 } } });
    for (const id of ['h1', 'h2']) await world.host(id, 1_000, { rack: id.replace('h', 'r') });
    await world.scheduler({ id: 's' });
    await world.submit(makeJob('low', { precedence: 10 }, { count: 2 }, 1_000));
    await world.until(() => running('low') === 2, 'low fills the hosts');
    await world.submit(makeJob('gang', { precedence: 80 }, { count: 2, gang: true }, 1_000));
    await world.until(() => running('gang') === 2, 'each rack gives one');
    expect(await whyOf('low')).toContain('parked');
    expect(await whyOf('low')).not.toContain('budget');
  });

  it('let what is in another rack go before what waits in its turn', async () => {
    await allow({ moves: { per: { attribute: 'rack', burst: 1, perHour: 1 } } });
    for (const id of ['h1', 'h2']) await world.host(id, 1_500, { rack: id.replace('h', 'r') });
    await world.scheduler({ id: 's', kind: 'service' });
    await world.submit(service('web', { count: 6 }));
    await world.until(() => running('web') === 6, 'web runs');
    await world.host('h3', 4_000, { rack: 'r3' });
    for (const id of ['h1', 'h2']) {
      const verdict = { state: 'draining', reason: '', by: 'ada', sinceMs: world.clock.nowMs() } as const;
      const counter = world.ledger(id).counter + 1;
      await world.put(keys.eligibilityOf(id), eligibilityCodec.encode({ ...verdict, counter }));
      await world.setEligibility(id, 'draining');
    }
    await world.clock.advance(30_000);
    expect([wantedOn('h1'), wantedOn('h2'), wantedOn('h3')]).toEqual([2, 2, 2]);
    const why = await whyOf('web');
    for (const rack of ['r1', 'r2']) expect(why).toContain(`waits for the budget of moves of rack ${rack}, `);
  });
});
