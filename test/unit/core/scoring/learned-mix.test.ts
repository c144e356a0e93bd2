import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepGpusWholeFor, LearnedMix } from '../../../../src/core/scoring/learned-mix.ts';
import type { GpuRequest } from '../../../../src/core/cell/resources.ts';

const one = (...models: string[]): GpuRequest => ({ count: 1, milliEach: 1000, models });
const total = (learned: LearnedMix): number =>
  (learned.mix ?? []).reduce((sum, { weight }) => sum + weight, 0);

describe('LearnedMix', () => {
  it('knows nothing before the first task', () => {
    const learned = new LearnedMix();
    learned.observe(1000, null, 0);
    expect(learned.mix).toBeUndefined();
    expect(keepGpusWholeFor(learned).mix).toBeUndefined();
  });

  it('counts tasks alike together, by what they ask for', () => {
    const law = fc.property(
      fc.array(fc.tuple(fc.constantFrom(0, 1, 2), fc.integer({ min: 1, max: 50 })), { minLength: 1 }),
      (seen) => {
        const kinds = [null, one(), one('T4')];
        const learned = new LearnedMix();
        const counts = [0, 0, 0];
        for (const [kind, count] of seen) {
          learned.observe(1000, kinds[kind] ?? null, count);
          counts[kind]! += count;
        }
        // A mix that was built at the last new tenth may lack the rest.
        for (const [kind, gpu] of kinds.entries()) {
          const found = learned.mix?.find((entry) => entry.gpu === gpu)?.weight ?? 0;
          expect(found).toBeLessThanOrEqual(counts[kind]!);
        }
        const all = counts.reduce((sum, count) => sum + count, 0);
        expect(total(learned)).toBeGreaterThanOrEqual(0.9 * all);
        expect(total(learned)).toBeLessThanOrEqual(all);
      },
    );
    fc.assert(law);
  });

  it('gives the same list until a tenth of it is new, so that it is seldom compiled', () => {
    const learned = new LearnedMix();
    learned.observe(1000, one(), 100);
    const { mix } = learned;
    learned.observe(1000, one('T4'), 11);
    expect(learned.mix).toBe(mix);
    learned.observe(1000, one('T4'), 2);
    expect(learned.mix).not.toBe(mix);
    expect(learned.mix).toContainEqual({ cpuMilli: 1000, gpu: one('T4'), weight: 13 });
  });

  it('follows a workload that changes', () => {
    const learned = new LearnedMix();
    for (let n = 0; n < 200; n++) learned.observe(1000, one('T4'), 100);
    for (let n = 0; n < 1000; n++) learned.observe(1000, one('G2'), 100);
    const before = learned.mix?.find(({ gpu }) => gpu?.models[0] === 'T4')?.weight ?? 0;
    expect(before / total(learned)).toBeLessThan(0.01);
  });

  it('stays small and keeps the common kinds, however many there are', () => {
    const learned = new LearnedMix();
    for (let n = 0; n < 5_000; n++) {
      learned.observe(n, one(), 1);
      learned.observe(500, one('T4'), 1);
    }
    expect(learned.mix?.length).toBeLessThanOrEqual(256);
    expect(learned.mix?.find(({ gpu }) => gpu?.models.length === 1)?.weight).toBeGreaterThan(4_000);
  });
});
