import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { silentLog, silentMetrics } from '../../../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import type { Host } from '../../../../src/core/host/host.ts';
import type { BudgetKind, BudgetPolicy } from '../../../../src/core/quota/budgets.ts';
import { SLICE_MS, USE_MS } from '../../../../src/core/quota/token-bucket.ts';
import type { Leaving } from '../../../../src/runtime/records/budgets.ts';
import { Budgets } from '../../../../src/runtime/records/budgets.ts';
import { bucketCodec, budgetPolicyCodec } from '../../../../src/wire/budgets/budget-records.ts';
import { makeHost } from '../../core/placement/placement-fixtures.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const keys = cellKeys('test');
const KIND = 'replacements';

let clock: ManualClock;
let cell: MemoryCell;
let store: MemoryCellStore;
let open: Budgets[];
beforeEach(() => {
  clock = new ManualClock();
  cell = new MemoryCell({ clock });
  store = new MemoryCellStore({ clock, cell });
  open = [];
});
afterEach(async () => {
  for (const one of open) one.close();
  await store.close();
});

async function allow(policy: BudgetPolicy): Promise<void> {
  const value = budgetPolicyCodec.encode(policy);
  await store.attempt({
    compares: [],
    writes: [{ kind: 'put', key: keys.budgets, value }],
    readBack: [],
  });
  await settle();
}

const of = (id: string, host = 'h1'): Leaving => ({ id, host });

/** Racks of hosts; `h0` has none. */
const RACKS: Readonly<Record<string, string>> = { h1: 'r1', h2: 'r2', h3: 'r2' };
function hostOf(id: string): Host {
  const rack = RACKS[id];
  return makeHost(id, { attributes: rack === undefined ? {} : { rack } });
}

function budgetsOf(wake: (kind: BudgetKind, who: string) => void): Budgets {
  const ports = { store, keys, clock, log: silentLog, metrics: silentMetrics };
  const budgets = new Budgets(ports, { wake, hostOf });
  open.push(budgets);
  return budgets;
}

/** One process: it asks for each of its jobs again whenever it is woken. */
async function holder(name: string, jobs: number) {
  const had: string[] = [];
  const budgets = budgetsOf((kind, who) => {
    if (budgets.ask(kind, who, [of(who)])) had.push(who);
  });
  await budgets.ready;
  await settle();
  const ask = (): void => {
    for (let n = 0; n < jobs; n++) {
      const who = `${name}-${String(n)}`;
      if (budgets.ask(KIND, who, [of(who)])) had.push(who);
    }
  };
  return { budgets, had, ask };
}

const some = (count: number, host = 'h1'): readonly Leaving[] =>
  Array.from({ length: count }, (_, n) => of(`${host}-${String(n)}`, host));

describe("S3.40 I76 the cell's budgets", () => {
  it('cost nothing where an operator has bounded nothing', async () => {
    const { budgets, ask } = await holder('a', 3);
    ask();
    await clock.advance(60_000);
    expect([budgets.has(KIND, of('a-0')), budgets.whyWaits(KIND, 'a-0')]).toEqual([true, null]);
    expect(cell.get(keys.bucket(KIND))).toBeUndefined();
  });

  it('are shared by all that draw of them, and who waits goes on by itself', async () => {
    await allow({ [KIND]: { burst: 4, perHour: 360 } });
    const [a, b] = [await holder('a', 6), await holder('b', 6)];
    for (const one of [a, b]) one.ask();
    await clock.advance(5_000);
    expect(a.had.length + b.had.length).toBe(4);
    expect(a.budgets.whyWaits(KIND, 'a-5')).toBe(
      "waits for the cell's budget of replacements, 4 at once and 360 an hour",
    );
    // One comes every ten seconds.
    await clock.advance(40_000);
    expect(a.had.length + b.had.length).toBe(8);
    await clock.advance(60_000);
    expect(new Set([...a.had, ...b.had]).size).toBe(12);
  });

  it('are drawn from in slices, without a write for each use', async () => {
    await allow({ [KIND]: { burst: 800, perHour: 1 } });
    const { had, ask } = await holder('a', 100);
    const { revision } = cell;
    ask();
    await clock.advance(3_000);
    expect([had.length, cell.revision - revision]).toEqual([100, 1]);
  });

  it('lose what a process had and did not spend, and what was spent for something it does not do in time', async () => {
    await allow({ [KIND]: { burst: 80, perHour: 1 } });
    const dead = await holder('a', 1);
    dead.ask();
    await clock.advance(2_000);
    dead.budgets.close();
    const later = await holder('b', 1);
    later.ask();
    await clock.advance(2_000);
    const left = bucketCodec.decode(cell.get(keys.bucket(KIND))?.value ?? '');
    // Two slices of ten are gone.
    expect(Math.round((left.fullAtMs - clock.nowMs()) / 3_600_000)).toBe(20);
    expect(later.budgets.has(KIND, of('b-0'))).toBe(true);
    await clock.advance(SLICE_MS);
    expect(later.budgets.take(KIND, 'b-1', [of('b-1')])).toBe(false);
    await clock.advance(USE_MS - SLICE_MS);
    expect(later.budgets.has(KIND, of('b-0'))).toBe(false);
  });

  it('give so many at once, or none', async () => {
    await allow({ evictions: { burst: 3, perHour: 3_600 } });
    const woken: string[] = [];
    const budgets = budgetsOf((kind, who) => woken.push(`${kind} ${who}`));
    await budgets.ready;
    await settle();
    expect(budgets.take('evictions', 'gang', some(3))).toBe(false);
    await clock.advance(100);
    expect(woken).toEqual(['evictions gang']);
    expect(budgets.take('evictions', 'gang', some(3))).toBe(true);
    expect(budgets.take('evictions', 'gang', some(3))).toBe(false);
    await clock.advance(2_000);
    expect(woken.length).toBe(1);
    await clock.advance(2_000);
    expect(woken.length).toBe(2);
    expect(budgets.take('evictions', 'huge', some(4))).toBe(false);
    expect(budgets.isWaiting('evictions', 'huge')).toBe(false);
    expect(budgets.whyWaits('evictions', 'huge')).toContain('needs 4 evictions at once, more than');
  });

  it('hold by what an operator says now', async () => {
    await allow({ [KIND]: { burst: 1, perHour: 1 } });
    const { had, ask } = await holder('a', 3);
    ask();
    await clock.advance(5_000);
    expect(had.length).toBe(1);
    await allow({});
    expect(had.length).toBe(1);
    ask();
    const all = open[0]?.has(KIND, of('a-2'));
    expect(all).toBe(true);
  });
});

const RACK = { attribute: 'host.rack', burst: 1, perHour: 60 };
const dueInMs = (name: string): number =>
  bucketCodec.decode(cell.get(keys.bucket(name))?.value ?? '').fullAtMs - clock.nowMs();

describe('S3.40 I76 budgets by failure domain', () => {
  it('take a token of the cell and one of the rack that is left, and wake who waits for the one that lacked', async () => {
    await allow({ [KIND]: { burst: 2, perHour: 360, per: RACK } });
    const woken: string[] = [];
    const budgets = budgetsOf((kind, who) => {
      if (budgets.ask(kind, who, [of(who, who.slice(0, 2))])) woken.push(who);
    });
    await budgets.ready;
    await settle();
    for (const who of ['h1-a', 'h1-b', 'h2-a']) budgets.ask(KIND, who, [of(who, who.slice(0, 2))]);
    await clock.advance(5_000);
    expect(woken).toEqual(['h1-a', 'h2-a']);
    expect(budgets.whyWaits(KIND, 'h1-b')).toBe(
      'waits for the budget of replacements of rack r1, 1 at once and 60 an hour',
    );
    // The cell's bucket is full again before that of the rack has a token, and is left alone until then.
    await clock.advance(35_000);
    expect([woken.length, dueInMs(KIND) <= 0]).toEqual([2, true]);
    await clock.advance(30_000);
    expect(woken).toEqual(['h1-a', 'h2-a', 'h1-b']);
  });

  it('bound racks alone where the cell has no bound, and take hosts without a rack for one', async () => {
    await allow({ [KIND]: { per: RACK } });
    const budgets = budgetsOf(() => undefined);
    await budgets.ready;
    await settle();
    const both = [of('a', 'h0'), of('b', 'gone-0'), of('c', 'h3')];
    budgets.ask(KIND, 'web', both);
    await clock.advance(2_000);
    expect(budgets.ask(KIND, 'web', both)).toBe(true);
    expect(both.map((one) => budgets.has(KIND, one))).toEqual([true, false, true]);
    await clock.advance(2_000);
    expect(budgets.whyWaits(KIND, 'web')).toBe(
      'waits for the budget of replacements of hosts without rack, 1 at once and 60 an hour',
    );
    expect(cell.get(keys.bucket(KIND))).toBeUndefined();
    expect(dueInMs(`${KIND}/rack/`)).toBeGreaterThan(0);
    expect(dueInMs(`${KIND}/rack/r2`)).toBeGreaterThan(0);
  });

  it('spend all tokens of a plan with victims in several racks, or none', async () => {
    await allow({ evictions: { burst: 8, perHour: 3_600, per: { ...RACK, burst: 2, perHour: 360 } } });
    const budgets = budgetsOf(() => undefined);
    await budgets.ready;
    await settle();
    expect(budgets.take('evictions', 'other', some(1, 'h2'))).toBe(false);
    await clock.advance(1_500);
    expect(budgets.take('evictions', 'other', some(1, 'h2'))).toBe(true);
    const gang = [...some(2, 'h1'), ...some(1, 'h2'), ...some(1, 'h3')];
    expect(budgets.take('evictions', 'gang', gang)).toBe(false);
    await clock.advance(2_000);
    expect(budgets.take('evictions', 'gang', gang)).toBe(false);
    expect(budgets.whyWaits('evictions', 'gang')).toContain('of evictions of rack r2, 2 at once');
    // Nothing was drawn for it of the rack that has enough.
    expect(cell.get(keys.bucket('evictions/rack/r1'))).toBeUndefined();
    await clock.advance(10_000);
    expect(budgets.take('evictions', 'gang', gang)).toBe(true);
    expect(budgets.take('evictions', 'huge', some(3, 'h1'))).toBe(false);
    expect(budgets.isWaiting('evictions', 'huge')).toBe(false);
    expect(budgets.whyWaits('evictions', 'huge')).toContain(
      'needs 3 evictions of rack r1 at once, more than its budget of 2 at once',
    );
  });

  it('have two that need tokens which come at different times have them at last', async () => {
    // Each comes once in ten minutes, and is lost a minute after it was drawn: drawn one by one they would never meet.
    await allow({ [KIND]: { burst: 1, perHour: 6, per: { ...RACK, perHour: 6 } } });
    for (const [name, inMs] of [
      [KIND, 300_000],
      [`${KIND}/rack/r1`, 600_000],
    ] as const) {
      const value = bucketCodec.encode({ fullAtMs: clock.nowMs() + inMs });
      const writes = [{ kind: 'put' as const, key: keys.bucket(name), value }];
      await store.attempt({ compares: [], writes, readBack: [] });
    }
    const { had, ask } = await holder('a', 1);
    ask();
    await clock.advance(590_000);
    expect(had).toEqual([]);
    await clock.advance(30_000);
    expect(had).toEqual(['a-0']);
  });

  it('know a rule that is another one now, and buckets that others drew of', async () => {
    await allow({ [KIND]: { per: RACK } });
    const { budgets, had, ask } = await holder('a', 2);
    ask();
    await clock.advance(2_000);
    expect(had.length).toBe(1);
    await allow({ [KIND]: { per: { ...RACK, attribute: 'zone' } } });
    await clock.advance(12_000);
    expect(had.length).toBe(2);
    expect(budgets.has(KIND, of('a-0'))).toBe(false);
    expect(dueInMs(`${KIND}/zone/`)).toBeGreaterThan(0);
  });
});
