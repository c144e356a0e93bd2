import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawTogether, spendTogether } from '../../../../src/core/quota/joint-tokens.ts';
import type { Bucket, BucketRule, Slice } from '../../../../src/core/quota/token-bucket.ts';
import { SLICE_MS, USE_MS } from '../../../../src/core/quota/token-bucket.ts';

const HOUR_MS = 3_600_000;
const START_MS = 1_700_000_000_000;
const DRAWERS = 3;
const CELL = 'moves';
const RACKS = ['moves/rack/r1', 'moves/rack/r2', 'moves/rack/'];

const ruleOf = (burst: number) =>
  fc.record({ burst: fc.integer({ min: 1, max: burst }), perHour: fc.integer({ min: 1, max: 20_000 }) });
const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 20 * 60_000 })),
    who: fc.nat({ max: DRAWERS - 1 }),
    what: fc.constantFrom('draw' as const, 'spend' as const, 'spend' as const, 'die' as const),
    /** So many of each rack: a plan may stop victims in several. */
    racks: fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 2 }), fc.nat({ max: 1 })),
    late: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { maxLength: 80 },
);
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

interface Use {
  readonly atMs: number;
  readonly tokens: number;
}

/** Of the cell as many as of all racks. */
function amountsOf(racks: readonly number[]): { readonly name: string; readonly tokens: number }[] {
  const each = racks.map((tokens, at) => ({ name: RACKS[at] ?? '', tokens }));
  const all = { name: CELL, tokens: racks.reduce((sum, tokens) => sum + tokens, 0) };
  return [all, ...each].filter(({ tokens }) => tokens > 0);
}

/** Several draw of the same buckets, one after the other in any order, spend what they have, use it later, and die with the rest. */
class Cell {
  readonly uses = new Map<string, Use[]>();
  readonly drawn = new Map<string, number>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #slices = Array.from({ length: DRAWERS }, () => new Map<string, readonly Slice[]>());
  readonly #rule: (name: string) => BucketRule;

  constructor(rule: (name: string) => BucketRule) {
    this.#rule = rule;
  }

  draw(who: number, amounts: ReturnType<typeof amountsOf>, atMs: number): void {
    const wanted = amounts.map(({ name, tokens }) => {
      const rule = this.#rule(name);
      return { rule, known: this.#buckets.get(name), least: Math.min(tokens, rule.burst) };
    });
    const drawn = drawTogether(wanted, START_MS + atMs);
    expect(new Set(drawn.map(({ taken }) => taken > 0)).size).toBeLessThanOrEqual(1);
    for (const [at, { taken, bucket }] of drawn.entries()) {
      const name = amounts[at]?.name ?? '';
      if (bucket !== null) this.#buckets.set(name, bucket);
      if (taken === 0) continue;
      this.drawn.set(name, (this.drawn.get(name) ?? 0) + taken);
      const own = this.#slices[who]?.get(name) ?? [];
      this.#slices[who]?.set(name, [...own, { left: taken, untilMs: atMs + SLICE_MS }]);
    }
  }

  spend(who: number, amounts: ReturnType<typeof amountsOf>, atMs: number, late: number): void {
    const own = this.#slices[who] ?? new Map<string, readonly Slice[]>();
    const spent = spendTogether(own, amounts, atMs);
    if (spent === null) return;
    for (const [name, left] of spent.left) own.set(name, left);
    for (const { name, tokens } of amounts)
      this.uses.set(name, [
        ...(this.uses.get(name) ?? []),
        { atMs: atMs + late * (spent.useUntilMs - atMs), tokens },
      ]);
  }

  die(who: number): void {
    this.#slices[who]?.clear();
  }
}

function played(sequence: Steps, rule: (name: string) => BucketRule): Cell {
  const cell = new Cell(rule);
  let atMs = 0;
  for (const { afterMs, who, what, racks, late } of sequence) {
    atMs += afterMs;
    const amounts = amountsOf(racks);
    if (what === 'die') cell.die(who);
    else if (what === 'draw') cell.draw(who, amounts, atMs);
    else if (amounts.length > 0) cell.spend(who, amounts, atMs, late);
  }
  return cell;
}

/** In any window no more than the burst and what came back in it and in the time that a token may wait to be used. */
function keepsTo({ burst, perHour }: BucketRule, uses: readonly Use[]): void {
  const inOrder = [...uses].sort((a, b) => a.atMs - b.atMs);
  for (const [n, first] of inOrder.entries()) {
    let sum = 0;
    for (const last of inOrder.slice(n)) {
      sum += last.tokens;
      expect(sum).toBeLessThanOrEqual(burst + (perHour * (last.atMs - first.atMs + USE_MS)) / HOUR_MS + 1e-6);
    }
  }
}

describe('I76 the bucket of the cell and those of its racks', () => {
  it('are each kept to, in whatever order those that share them draw, spend and die', () => {
    fc.assert(
      fc.property(ruleOf(60), ruleOf(20), steps, (cellRule, rackRule, sequence) => {
        const rule = (name: string): BucketRule => (name === CELL ? cellRule : rackRule);
        const cell = played(sequence, rule);
        const total = (name: string): number =>
          (cell.uses.get(name) ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
        for (const name of [CELL, ...RACKS]) {
          keepsTo(rule(name), cell.uses.get(name) ?? []);
          expect(total(name)).toBeLessThanOrEqual(cell.drawn.get(name) ?? 0);
        }
        // Each use is of the cell and of a rack.
        expect(total(CELL)).toBe(RACKS.reduce((sum, name) => sum + total(name), 0));
      }),
    );
  });
});

describe('S3.40 tokens of several buckets', () => {
  const rule = { burst: 8, perHour: 3_600 };
  const empty = { fullAtMs: START_MS + 8_000 };

  it('are drawn of none of them when one has too few, and it is told which', () => {
    const wanted = [
      { rule, known: undefined, least: 1 },
      { rule, known: empty, least: 2 },
    ];
    expect(drawTogether(wanted, START_MS)).toEqual([
      { taken: 0, bucket: null, lacksUntilMs: null },
      { taken: 0, bucket: null, lacksUntilMs: START_MS + 2_000 },
    ]);
    expect(drawTogether(wanted, START_MS + 2_000).map(({ taken }) => taken)).toEqual([1, 2]);
  });

  it('are spent of none of them when one has too few', () => {
    const slices = new Map([['a', [{ left: 2, untilMs: SLICE_MS }]]]);
    const amounts = [
      { name: 'a', tokens: 1 },
      { name: 'b', tokens: 1 },
    ];
    expect(spendTogether(slices, amounts, 0)).toBeNull();
    slices.set('b', [{ left: 1, untilMs: SLICE_MS - 500 }]);
    const spent = spendTogether(slices, amounts, 0);
    expect(spent?.useUntilMs).toBe(USE_MS - 500);
    expect([...(spent?.left ?? [])]).toEqual([
      ['a', [{ left: 1, untilMs: SLICE_MS }]],
      ['b', []],
    ]);
  });
});
