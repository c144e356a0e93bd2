import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskMix } from '../../../../src/core/scoring/fragmentation.ts';
import { Fragmentation } from '../../../../src/core/scoring/fragmentation.ts';

const half = { count: 1, milliEach: 500, models: [] };
const whole = { count: 1, milliEach: 1000, models: [] };
const pair = { count: 2, milliEach: 1000, models: [] };

const anyMix: fc.Arbitrary<TaskMix> = fc.array(
  fc.record({
    cpuMilli: fc.constantFrom(0, 1000, 3000),
    gpu: fc.constantFrom(null, half, whole, pair),
    weight: fc.integer({ min: 1, max: 5 }),
  }),
  { minLength: 1, maxLength: 6 },
);
const anyUse = fc.array(fc.constantFrom(0, 200, 500, 700, 1000), { maxLength: 4 });

/** The definition, entry by entry. */
function byDefinition(mix: TaskMix, cpuMilli: number, used: readonly number[]): number {
  const free = used.map((milli) => 1000 - milli);
  const total = free.reduce((sum, milli) => sum + milli, 0);
  const weights = mix.reduce((sum, { weight }) => sum + weight, 0);
  let lost = 0;
  for (const { cpuMilli: asked, gpu, weight } of mix) {
    const fits = gpu !== null && free.filter((milli) => milli >= gpu.milliEach).length >= gpu.count;
    const usable = fits && asked <= cpuMilli ? free.filter((milli) => milli >= gpu.milliEach) : [];
    lost += (weight / weights) * (total - usable.reduce((sum, milli) => sum + milli, 0));
  }
  return lost;
}

describe('Fragmentation', () => {
  it('is what the tasks of the mix cannot use of the free GPUs, in the mean', () => {
    const law = fc.property(anyMix, fc.constantFrom(0, 500, 1000, 5000), anyUse, (mix, cpuMilli, used) => {
      const models = used.map(() => 'T4');
      const amount = new Fragmentation([...mix]).amount(cpuMilli, used, models);
      expect(amount).toBeCloseTo(byDefinition(mix, cpuMilli, used), 6);
    });
    fc.assert(law);
  });

  it('chooses the device whose rest stays useful', () => {
    const rule = new Fragmentation([
      { cpuMilli: 100, gpu: whole, weight: 1 },
      { cpuMilli: 100, gpu: half, weight: 1 },
    ]);
    const host = { cpuMilli: 10_000, models: ['T4', 'T4', 'T4'], usedMilli: [0, 500, 400] };
    expect(rule.leastLoss(host, 100, half)?.gpus).toEqual([{ device: 1, milli: 500 }]);
    expect(rule.leastLoss(host, 100, pair)).toBeNull();
    expect(rule.leastLoss(host, 100, null)?.gpus).toEqual([]);
  });
});
