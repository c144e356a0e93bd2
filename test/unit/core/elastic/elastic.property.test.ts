import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ELASTIC_POLICIES } from '../../../../src/core/cell/job.ts';
import type { CellUse, ElasticRule, ElasticSize } from '../../../../src/core/elastic/elastic.ts';
import { DEFAULT_ELASTIC, mostOf, targetOf, targetWithin } from '../../../../src/core/elastic/elastic.ts';

const rules = fc.record<ElasticRule>({
  policy: fc.constantFrom(...ELASTIC_POLICIES),
  capPercent: fc.integer({ min: 1, max: 100 }),
  factor: fc.integer({ min: 1, max: 20 }),
});

const sizes = fc
  .record({
    min: fc.integer({ min: 1, max: 50 }),
    more: fc.integer({ min: 0, max: 200 }),
    cpuMilli: fc.integer({ min: 0, max: 4_000 }),
    memoryMib: fc.integer({ min: 0, max: 8_000 }),
  })
  .map(({ min, more, ...each }): ElasticSize => ({ min, max: min + more, ...each }));

const uses = fc
  .record({
    cpuMilliTotal: fc.integer({ min: 0, max: 400_000 }),
    memoryMibTotal: fc.integer({ min: 0, max: 800_000 }),
    cpuShare: fc.integer({ min: 0, max: 100 }),
    memoryShare: fc.integer({ min: 0, max: 100 }),
  })
  .map(({ cpuMilliTotal, memoryMibTotal, cpuShare, memoryShare }): CellUse => ({
    ...{ cpuMilliTotal, memoryMibTotal },
    cpuMilliUsed: Math.floor((cpuMilliTotal * cpuShare) / 100),
    memoryMibUsed: Math.floor((memoryMibTotal * memoryShare) / 100),
  }));

/** An elastic group is never above its own maximum: another size is another version, which replaces it. */
const cases = fc
  .tuple(rules, sizes, uses, fc.nat({ max: 10_000 }))
  .map(([rule, size, use, drawn]) => ({ rule, size, use, has: drawn % (size.max + 1) }));

const bothOf = (rule: ElasticRule, size: ElasticSize, has: number, use: CellUse): readonly number[] => [
  targetOf(rule, size, has, use),
  targetWithin(rule, size, has, use),
];

describe('the target of an elastic group', () => {
  test('lies within its minimum and maximum, whatever the cell holds', () => {
    fc.assert(
      fc.property(cases, ({ rule, size, use, has }) => {
        const target = targetOf(rule, size, has, use);
        expect(target).toBeGreaterThanOrEqual(size.min);
        expect(target).toBeLessThanOrEqual(size.max);
        const within = targetWithin(rule, size, has, use);
        // Of a minimum that is not placed yet only what could be placed; nothing else is ever below it.
        expect(within).toBeGreaterThanOrEqual(Math.min(size.min, has));
        expect(within).toBeLessThanOrEqual(target);
      }),
    );
  });

  test('by global-cap growth leaves the cell no fuller than the cap, and by any policy no fuller than it is large', () => {
    fc.assert(
      fc.property(cases, ({ rule, size, use, has }) => {
        const most = { capped: rule.policy === 'global-cap' ? rule.capPercent / 100 : 1 };
        const start = Math.max(has, size.min);
        const grown = targetWithin(rule, size, start, use) - start;
        if (grown <= 0) return;
        expect(use.cpuMilliUsed + grown * size.cpuMilli).toBeLessThanOrEqual(
          most.capped * use.cpuMilliTotal + 1e-6,
        );
        expect(use.memoryMibUsed + grown * size.memoryMib).toBeLessThanOrEqual(
          most.capped * use.memoryMibTotal + 1e-6,
        );
      }),
    );
  });

  test('only grows with what is idle, with the maximum, the cap and the factor', () => {
    const more = fc.nat({ max: 100 });
    fc.assert(
      fc.property(cases, more, more, ({ rule, size, use, has }, first, second) => {
        const freer: CellUse = {
          ...use,
          cpuMilliUsed: Math.max(0, use.cpuMilliUsed - first * 1_000),
          memoryMibUsed: Math.max(0, use.memoryMibUsed - second * 1_000),
        };
        const wider = { ...size, max: size.max + first };
        const laxer = {
          ...rule,
          capPercent: Math.min(100, rule.capPercent + first),
          factor: rule.factor + second,
        };
        const now = bothOf(rule, size, has, use);
        for (const later of [
          bothOf(rule, size, has, freer),
          bothOf(rule, wider, has, use),
          bothOf(laxer, size, has, use),
        ])
          for (const [at, target] of later.entries()) expect(target).toBeGreaterThanOrEqual(now[at] ?? 0);
      }),
    );
  });

  test('keeps what it has within the reach of its policy, however full the cell has become', () => {
    fc.assert(
      fc.property(cases, ({ rule, size, use, has }) => {
        const kept = Math.min(has, mostOf(rule, size));
        for (const target of bothOf(rule, size, has, use)) expect(target).toBeGreaterThanOrEqual(kept);
      }),
    );
  });
});

test('the paper’s figures: 60 percent of the cell, four times the minimum', () => {
  const size = { min: 10, max: 100, cpuMilli: 1_000, memoryMib: 0 };
  const cell = (cpuMilliUsed: number): CellUse => ({
    ...{ cpuMilliTotal: 100_000, memoryMibTotal: 1_000, cpuMilliUsed, memoryMibUsed: 0 },
  });
  const target = (policy: ElasticRule['policy'], used: number, has: number): number =>
    targetOf({ ...DEFAULT_ELASTIC, policy }, size, has, cell(used));
  expect(target('max-parallelism', 10_000, 10)).toBe(100);
  expect(target('relative-job-size', 10_000, 10)).toBe(40);
  expect(target('global-cap', 10_000, 10)).toBe(60);
  expect(target('global-cap', 70_000, 10)).toBe(10);
  expect(target('global-cap', 70_000, 25)).toBe(25);
});
