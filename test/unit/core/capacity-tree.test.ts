import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CapacityTree, FewHosts, GPU_TOTAL, ManyHosts, ROW } from '../../../src/core/capacity-tree.ts';

const HOSTS_MAX = 60;
const amount = fc.integer({ min: -2, max: 4 });
const row = fc.tuple(amount, amount, amount, amount);

type Step =
  | {
      readonly kind: 'set';
      readonly host: number;
      readonly row: readonly number[];
      readonly takesWork: boolean;
    }
  | { readonly kind: 'remove'; readonly host: number };

const hostNumber = fc.integer({ min: 0, max: HOSTS_MAX - 1 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      host: hostNumber,
      row,
      takesWork: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), host: hostNumber }) },
);

function rowOf(amounts: readonly number[]): Float64Array {
  const result = new Float64Array(ROW);
  const [cpu = 0, memory = 0, disk = 0, gpu = 0] = amounts;
  result.set([cpu, memory, disk]);
  result[GPU_TOTAL] = gpu;
  return result;
}

function found(tree: CapacityTree, need: Float64Array): number[] {
  const hosts: number[] = [];
  for (let at = tree.seek(0, need); at >= 0; at = tree.seek(at + 1, need)) hosts.push(tree.hostAt(at));
  return hosts;
}

describe('CapacityTree', () => {
  it.each([
    ['many', () => new ManyHosts()],
    ['few', () => new FewHosts()],
  ])('finds exactly the hosts that have enough, each once, after any history (%s hosts)', (_, positions) => {
    const law = fc.property(fc.array(anyStep, { maxLength: 120 }), row, (steps, need) => {
      const tree = new CapacityTree(positions());
      const model = new Map<number, { row: readonly number[]; takesWork: boolean }>();
      for (const step of steps) {
        if (step.kind === 'remove') {
          tree.remove(step.host);
          model.delete(step.host);
          continue;
        }
        if (!model.has(step.host)) tree.add(step.host);
        tree.update(step.host, rowOf(step.row), 0, step.takesWork);
        model.set(step.host, step);
      }
      const wanted = need.map((amount) => Math.max(0, amount));
      // Without a need of GPUs their row is not read: what a host owes there is no concern of others.
      const dimensions = (wanted[3] ?? 0) > 0 ? 4 : 3;
      const expected = [...model].filter(
        ([, host]) =>
          host.takesWork && wanted.slice(0, dimensions).every((amount, n) => (host.row[n] ?? 0) >= amount),
      );
      expect(tree.size).toBe(model.size);
      expect(found(tree, rowOf(wanted)).sort((a, b) => a - b)).toEqual(
        expected.map(([host]) => host).sort((a, b) => a - b),
      );
    });
    fc.assert(law, { numRuns: 500 });
  });
});
