import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SimJob } from '../../../../../sim/omega/workload/workload.ts';
import { ANY_HOST } from '../../../../../sim/omega/workload/workload.ts';
import { CoreCommit } from '../../../../../sim/omega/model/core-commit.ts';
import { PrivateCopy } from '../../../../../sim/omega/model/private-copy.ts';
import type { Placed } from '../../../../../sim/omega/model/placer.ts';
import { NO_DEVICES } from '../../../../../sim/omega/model/free-capacity.ts';
import { SharedCell } from '../../../../../sim/omega/model/shared-cell.ts';

const HOSTS = 4;
const kind = { count: HOSTS, cpuMilli: 3000, memoryMib: 3000, gpuModels: [] };

const cellOf = (endsMove = false): SharedCell =>
  new SharedCell({ hosts: [kind], prefill: [], hostGroups: 1 }, () => 0, endsMove);

const shapeOf = (cpuMilli: number) => ({ cpuMilli, memoryMib: 500, gpu: null });

function jobOf(tasks: number, cpuMilli: number): SimJob {
  const times = { submitSeconds: 0, runtimeSeconds: 1 };
  return {
    id: 1,
    work: 'batch',
    ...times,
    tasks,
    shape: shapeOf(cpuMilli),
    gang: false,
    hostGroups: ANY_HOST,
  };
}

const placedOn = (hosts: readonly number[]): Placed => ({
  ...{ count: hosts.length, hosts: Int32Array.from(hosts), devices: null },
});

const host = fc.nat(HOSTS - 1);
const scenario = fc.record({
  before: fc.array(fc.record({ host, cpuMilli: fc.constantFrom(500, 1000, 2000) }), { maxLength: 8 }),
  between: fc.array(fc.record({ host, cpuMilli: fc.constantFrom(500, 1000, 2000) }), { maxLength: 8 }),
  wanted: fc.array(host, { minLength: 1, maxLength: 6 }),
  cpuMilli: fc.constantFrom(500, 1000),
  conflictCheck: fc.constantFrom('resource-fit' as const, 'version' as const),
  atomicity: fc.constantFrom('incremental' as const, 'all-or-nothing' as const),
});

/** Claims as far as there is room. */
function fill(
  cell: SharedCell,
  claims: readonly { readonly host: number; readonly cpuMilli: number }[],
): void {
  for (const claim of claims) {
    const shape = shapeOf(claim.cpuMilli);
    if (cell.cpuMilli[claim.host]! >= shape.cpuMilli && cell.memoryMib[claim.host]! >= shape.memoryMib)
      cell.claim(claim.host, shape, NO_DEVICES);
  }
}

function play(of: typeof scenario extends fc.Arbitrary<infer T> ? T : never, judgeAll: boolean) {
  const cell = cellOf();
  fill(cell, of.before);
  const copy = new PrivateCopy(cell);
  // Only what fits the copy would have been placed.
  const room = [...copy.cpuMilli];
  const memory = [...copy.memoryMib];
  const hosts = of.wanted.filter((at) => {
    if (room[at]! < of.cpuMilli || memory[at]! < 500) return false;
    room[at]! -= of.cpuMilli;
    memory[at]! -= 500;
    return true;
  });
  fill(cell, of.between);
  const freeBefore = [...cell.cpuMilli];
  const commit = new CoreCommit(cell, { conflictCheck: of.conflictCheck, judgeAll });
  const landed = commit.commit(copy, placedOn(hosts), jobOf(hosts.length, of.cpuMilli), of.atomicity);
  return { cell, copy, hosts, landed, freeBefore };
}

test('asking the rules only about hosts that moved gives what asking about all gives', () => {
  fc.assert(
    fc.property(scenario, (of) => {
      const [short, whole] = [play(of, false), play(of, true)];
      expect([...short.landed.hosts].sort()).toEqual([...whole.landed.hosts].sort());
      expect(short.landed.conflicts).toBe(whole.landed.conflicts);
      expect([...short.cell.cpuMilli]).toEqual([...whole.cell.cpuMilli]);
    }),
  );
});

test('I1 no commit takes more than a host has; every task lands or conflicts; a gang does so as one', () => {
  fc.assert(
    fc.property(scenario, (of) => {
      const { cell, hosts, landed, freeBefore } = play(of, false);
      expect(Math.min(...cell.cpuMilli, ...cell.memoryMib)).toBeGreaterThanOrEqual(0);
      expect(landed.hosts.length + landed.conflicts).toBe(hosts.length);
      if (of.atomicity === 'all-or-nothing') expect([0, hosts.length]).toContain(landed.hosts.length);
      const taken = landed.hosts.length * of.cpuMilli;
      expect(freeBefore.reduce((sum, n) => sum + n, 0) - cell.cpuMilli.reduce((sum, n) => sum + n, 0)).toBe(
        taken,
      );
    }),
  );
});

test('version refuses whatever moved, resource-fit only what no longer fits; whoever lost nothing is never refused', () => {
  fc.assert(
    fc.property(scenario, (of) => {
      const fine = play({ ...of, conflictCheck: 'resource-fit' }, false);
      const coarse = play({ ...of, conflictCheck: 'version' }, false);
      expect(coarse.landed.conflicts).toBeGreaterThanOrEqual(fine.landed.conflicts);
      expect(coarse.landed.rebased).toBe(0);
      if (of.between.length === 0) expect(coarse.landed.conflicts).toBe(0);
    }),
  );
});

test('the end of a task moves its host only where the store would see it', () => {
  for (const [endsMove, conflicts] of [
    [false, 0],
    [true, 1],
  ] as const) {
    const cell = cellOf(endsMove);
    cell.claim(0, shapeOf(500), NO_DEVICES);
    const copy = new PrivateCopy(cell);
    cell.free(0, shapeOf(500), NO_DEVICES);
    const commit = new CoreCommit(cell, { conflictCheck: 'version', judgeAll: false });
    expect(commit.commit(copy, placedOn([0]), jobOf(1, 500), 'incremental').conflicts).toBe(conflicts);
  }
});
