import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { silentLog, silentMetrics } from '../../../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import type { BudgetPolicy } from '../../../../src/core/quota/budgets.ts';
import { SLICE_MS, USE_MS } from '../../../../src/core/quota/token-bucket.ts';
import { Budgets } from '../../../../src/runtime/records/budgets.ts';
import { bucketCodec, budgetPolicyCodec } from '../../../../src/wire/budgets/budget-records.ts';
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

/** One process: it asks for each of its jobs again whenever it is woken. */
async function holder(name: string, jobs: number) {
  const had: string[] = [];
  const budgets = new Budgets({ store, keys, clock, log: silentLog, metrics: silentMetrics }, (kind, who) => {
    if (budgets.ask(kind, who, [who])) had.push(who);
  });
  open.push(budgets);
  await budgets.ready;
  await settle();
  const ask = (): void => {
    for (let n = 0; n < jobs; n++) {
      const who = `${name}-${String(n)}`;
      if (budgets.ask(KIND, who, [who])) had.push(who);
    }
  };
  return { budgets, had, ask };
}

describe("S3.40 I76 the cell's budgets", () => {
  it('cost nothing where an operator has bounded nothing', async () => {
    const { budgets, ask } = await holder('a', 3);
    ask();
    await clock.advance(60_000);
    expect([budgets.has(KIND, 'a-0'), budgets.whyWaits(KIND, 'a-0')]).toEqual([true, null]);
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
    expect(later.budgets.has(KIND, 'b-0')).toBe(true);
    await clock.advance(SLICE_MS);
    expect(later.budgets.take(KIND, 'b-1', 1)).toBe(false);
    await clock.advance(USE_MS - SLICE_MS);
    expect(later.budgets.has(KIND, 'b-0')).toBe(false);
  });

  it('give so many at once, or none', async () => {
    await allow({ evictions: { burst: 3, perHour: 3_600 } });
    const woken: string[] = [];
    const budgets = new Budgets({ store, keys, clock, log: silentLog, metrics: silentMetrics }, (kind, who) =>
      woken.push(`${kind} ${who}`),
    );
    open.push(budgets);
    await budgets.ready;
    await settle();
    expect(budgets.take('evictions', 'gang', 3)).toBe(false);
    await clock.advance(100);
    expect(woken).toEqual(['evictions gang']);
    expect(budgets.take('evictions', 'gang', 3)).toBe(true);
    expect(budgets.take('evictions', 'gang', 3)).toBe(false);
    await clock.advance(2_000);
    expect(woken.length).toBe(1);
    await clock.advance(2_000);
    expect(woken.length).toBe(2);
    expect(budgets.take('evictions', 'huge', 4)).toBe(false);
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
    const all = open[0]?.has(KIND, 'a-2');
    expect(all).toBe(true);
  });
});
