import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CapacityTree, GPU_TOTAL, ROW, TAKES } from '../../../../src/core/cell-state/capacity-tree.ts';

const HOSTS_MAX = 60;
const amount = fc.integer({ min: -2, max: 4 });
const row = fc.tuple(amount, amount, amount, amount);

interface Change {
  readonly host: number;
  readonly row: readonly number[];
  readonly takesWork: boolean;
}

const anyChange: fc.Arbitrary<Change> = fc.record({
  host: fc.integer({ min: 0, max: HOSTS_MAX - 1 }),
  row,
  takesWork: fc.boolean(),
});

function rowOf(amounts: readonly number[], takesWork = true): Float64Array {
  const result = new Float64Array(ROW);
  const [cpu = 0, memory = 0, disk = 0, gpu = 0] = amounts;
  result.set([cpu, memory, disk]);
  result[GPU_TOTAL] = gpu;
  result[TAKES] = takesWork ? 1 : 0;
  return result;
}

function found(tree: CapacityTree, need: Float64Array): number[] {
  const hosts: number[] = [];
  for (let at = tree.seek(0, need); at >= 0; at = tree.seek(at + 1, need)) hosts.push(tree.hostAt(at));
  return hosts;
}

/** Those that show enough, by looking at each. */
function walked(known: ReadonlyMap<number, Change>, need: readonly number[]): number[] {
  // Without a need of GPUs their row is not read: what a host owes there is no concern of others.
  const dimensions = (need[3] ?? 0) > 0 ? 4 : 3;
  return [...known]
    .filter(
      ([, host]) =>
        host.takesWork && need.slice(0, dimensions).every((each, n) => (host.row[n] ?? 0) >= each),
    )
    .map(([host]) => host)
    .sort((a, b) => a - b);
}

describe('CapacityTree', () => {
  it('finds exactly the hosts that have enough, each once and in order, after any history', () => {
    const anyStep = fc.oneof(
      { weight: 6, arbitrary: anyChange },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: HOSTS_MAX }) },
    );
    const law = fc.property(fc.array(anyStep, { maxLength: 120 }), row, (steps, need) => {
      const tree = new CapacityTree();
      const known = new Map<number, Change>();
      for (const step of steps) {
        if (typeof step === 'number') {
          tree.resize(step);
          for (const host of known.keys()) if (host >= step) known.delete(host);
          continue;
        }
        if (step.host < tree.size) known.set(step.host, step);
        tree.update(step.host, rowOf(step.row, step.takesWork), 0);
      }
      const wanted = need.map((each) => Math.max(0, each));
      expect(found(tree, rowOf(wanted))).toEqual(walked(known, wanted));
    });
    fc.assert(law, { numRuns: 500 });
  });

  it('finds the same among some of the hosts only, however their indices lie', () => {
    const gap = fc.oneof(
      fc.constant(1),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 100_000 }),
    );
    const law = fc.property(
      fc.array(gap, { minLength: 1, maxLength: 60 }),
      fc.array(anyChange, { maxLength: 60 }),
      row,
      (gaps, changes, need) => {
        let last = -1;
        const members = gaps.map((each) => (last += each));
        const tree = new CapacityTree([...members].reverse());
        const known = new Map<number, Change>();
        for (const change of changes) {
          const host = members[change.host] ?? last + 1 + change.host;
          if (change.host < members.length) known.set(host, change);
          tree.update(host, rowOf(change.row, change.takesWork), 0);
        }
        const wanted = need.map((each) => Math.max(0, each));
        expect(tree.size).toBe(members.length);
        expect(found(tree, rowOf(wanted))).toEqual(walked(known, wanted));
      },
    );
    fc.assert(law, { numRuns: 500 });
  });
});
