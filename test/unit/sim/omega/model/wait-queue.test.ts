import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ANY_HOST } from '../../../../../sim/omega/workload/workload.ts';
import type { CellSum } from '../../../../../sim/omega/model/wait-queue.ts';
import { WaitQueue } from '../../../../../sim/omega/model/wait-queue.ts';
import type { JobState } from '../../../../../sim/omega/model/model.ts';

const TOTAL = 40;

interface Sum extends CellSum {
  cpuMilliUsed: number;
  memoryMibUsed: number;
}

const whole = (): Sum => ({
  ...{ cpuMilliTotal: TOTAL, memoryMibTotal: TOTAL, cpuMilliUsed: TOTAL, memoryMibUsed: TOTAL },
});

/** The plain walk: the line in the order of submission, and whoever fits into what is left goes. */
class PlainLine {
  line: JobState[] = [];

  add(state: JobState): void {
    this.line.push(state);
    this.line.sort((a, b) => a.job.submitSeconds - b.job.submitSeconds || a.job.id - b.job.id);
  }

  take(cell: CellSum): JobState[] {
    let cpuMilli = cell.cpuMilliTotal - cell.cpuMilliUsed;
    let memoryMib = cell.memoryMibTotal - cell.memoryMibUsed;
    const go = this.line.filter(({ job, unplaced }) => {
      const tasks = job.gang ? unplaced : 1;
      const [cpu, memory] = [tasks * job.shape.cpuMilli, tasks * job.shape.memoryMib];
      if (cpu > cpuMilli || memory > memoryMib) return false;
      cpuMilli -= cpu;
      memoryMib -= memory;
      return true;
    });
    this.line = this.line.filter((state) => !go.includes(state));
    return go;
  }
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    submitSeconds: fc.integer({ min: 0, max: 30 }),
    unplaced: fc.integer({ min: 1, max: 8 }),
    cpuMilli: fc.integer({ min: 1, max: 4 }),
    memoryMib: fc.integer({ min: 0, max: 4 }),
    gang: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('look' as const),
    cpuFree: fc.integer({ min: 0, max: TOTAL }),
    memoryFree: fc.integer({ min: 0, max: TOTAL }),
    /** Of those let go, every so many-th finds no room after all and comes back. */
    back: fc.integer({ min: 1, max: 4 }),
  }),
);

test('a line in buckets lets the same jobs go, in the same order, as a walk along the whole line', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 2, maxLength: 120 }), (steps) => {
      const cell = whole();
      let released: JobState[] = [];
      const waiting = new WaitQueue(cell, (state) => released.push(state));
      const plain = new PlainLine();
      const addBoth = (state: JobState): void => {
        waiting.add(state);
        plain.add(state);
      };
      for (const [id, one] of steps.entries()) {
        if (one.kind === 'add') {
          const { submitSeconds, unplaced, gang, cpuMilli, memoryMib } = one;
          const shape = { cpuMilli, memoryMib, gpu: null };
          const job = {
            id,
            work: 'batch' as const,
            submitSeconds,
            tasks: unplaced,
            runtimeSeconds: 1,
            shape,
          };
          addBoth({ job: { ...job, gang, hostGroups: ANY_HOST }, unplaced, tries: 0 });
          continue;
        }
        cell.cpuMilliUsed = TOTAL - one.cpuFree;
        cell.memoryMibUsed = TOTAL - one.memoryFree;
        released = [];
        waiting.releaseFitting();
        expect(released).toEqual(plain.take(cell));
        for (const [at, state] of released.entries()) if (at % one.back === 0) addBoth(state);
      }
    }),
    { numRuns: 500 },
  );
});
