import { beforeEach, describe, expect, it } from 'vitest';
import type { Term } from '../../../../schedulers/state/state.ts';
import type { JobIntakeParts } from '../../../../schedulers/ownership/job-intake.ts';
import { JobIntake } from '../../../../schedulers/ownership/job-intake.ts';
import { NOTHING_STORED } from '../../../../schedulers/state/stored-job.ts';
import { OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import type { Group } from '../../../../src/core/cell/job.ts';
import type { LiveAllocation } from '../../../../src/core/slots/job-view.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { makeJob } from '../cell-world.ts';

/** A job after a restore: whether all of it is taken up, and what comes of that. */
class Intake {
  readonly clock = new ManualClock();
  readonly job = new OwnedJob({ job: makeJob('web'), version: 1, desired: 'stop', submittedAtMs: 1 }, 1, 1);
  /** Unrecorded allocations whose capacity other claims hold; null: unknown. */
  waiting: readonly LiveAllocation[] | null = null;
  /** Does a second try find a change? */
  mayBeFree: boolean | StoreError = false;
  /** Called while its unrecorded allocations are taken up. */
  meanwhile = (): void => undefined;
  reads = 0;
  decisions = 0;
  readonly #intake = new JobIntake(
    {
      world: { clock: this.clock, log: silentLog },
      signal: new AbortController().signal,
      enqueue: () => (this.decisions += 1),
    } as unknown as Term,
    {
      loader: {
        load: () => {
          this.reads += 1;
          return Promise.resolve(NOTHING_STORED);
        },
      },
      reports: { hostsChanged: () => undefined },
      unrecorded: {
        takeUp: () => {
          this.meanwhile();
          return Promise.resolve(this.waiting);
        },
        tryAgain: async () => {
          if (this.mayBeFree instanceof StoreError) throw this.mayBeFree;
          return this.mayBeFree;
        },
      },
    } as unknown as JobIntakeParts,
  );

  run(group: Partial<Group> = {}): void {
    this.job.record = { ...this.job.record, job: makeJob('web', {}, group), desired: 'run' };
  }

  load(): void {
    this.job.stale = true;
    void this.#intake.load(this.job, 0);
  }
}

describe('a job of which hosts have what a restored store does not', () => {
  let cell: Intake;
  beforeEach(() => (cell = new Intake()));

  it('I55 is decided when it is to stop, and partly loaded until all is taken up', async () => {
    cell.load();
    await cell.clock.advance(10);
    expect([cell.job.stale, cell.job.partlyLoaded, cell.decisions]).toEqual([false, true, 1]);
    cell.waiting = [];
    await cell.clock.advance(1_000);
    expect([cell.job.stale, cell.job.partlyLoaded, cell.decisions]).toEqual([false, false, 2]);
    expect(cell.reads).toBe(2);
  });

  it('I53 is not decided when it is to run: its slots may be filled already', async () => {
    cell.run();
    cell.load();
    await cell.clock.advance(1_000);
    expect([cell.job.stale, cell.decisions]).toEqual([true, 0]);
    expect(cell.reads).toBeGreaterThan(1);
    cell.waiting = [];
    await cell.clock.advance(1_000);
    expect([cell.job.stale, cell.decisions]).toEqual([false, 1]);
  });

  it('is read again when an own write was applied meanwhile', async () => {
    cell.waiting = [];
    cell.meanwhile = () => {
      if (cell.reads === 1) cell.job.ownWrites += 1;
    };
    cell.load();
    await cell.clock.advance(10);
    expect([cell.reads, cell.decisions]).toEqual([2, 1]);
  });

  describe('and that lack only their capacity', () => {
    const unrecorded = { allocation: { id: 'a' }, report: null } as unknown as LiveAllocation;
    beforeEach(() => {
      cell.run();
      cell.waiting = [unrecorded];
      cell.load();
    });

    it('I53 is decided with them, and read again when their capacity may be free', async () => {
      await cell.clock.advance(1_000);
      expect([cell.job.stale, cell.job.partlyLoaded, cell.decisions, cell.reads]).toEqual([
        false,
        true,
        1,
        1,
      ]);
      expect(cell.job.unrecorded).toEqual([unrecorded]);
      cell.mayBeFree = true;
      await cell.clock.advance(300);
      expect(cell.job.stale).toBe(true);
      cell.waiting = [];
      await cell.clock.advance(300);
      expect([cell.job.stale, cell.job.partlyLoaded, cell.job.unrecorded]).toEqual([false, false, []]);
      expect(cell.decisions).toBe(2);
      await cell.clock.advance(5_000);
      expect(cell.reads).toBe(2);
    });

    it('is read again when anything else asks for it', async () => {
      await cell.clock.advance(1_000);
      cell.job.stale = true;
      await cell.clock.advance(500);
      expect([cell.job.stale, cell.reads]).toEqual([false, 2]);
    });

    it('is not decided on after the store failed, before it was read', async () => {
      await cell.clock.advance(1_000);
      cell.mayBeFree = new StoreError('unavailable', 'gone', { retryable: true });
      cell.waiting = null;
      await cell.clock.advance(5_000);
      expect(cell.job.stale).toBe(true);
      expect(cell.reads).toBeGreaterThan(1);
    });

    it('ends with the job', async () => {
      await cell.clock.advance(1_000);
      cell.job.dropped = true;
      await cell.clock.advance(5_000);
      expect([cell.reads, cell.decisions]).toEqual([1, 1]);
    });
  });

  it('I6 is not partly loaded with a gang: all its members are placed together', async () => {
    cell.run({ gang: true });
    cell.waiting = [{ allocation: { id: 'a' }, report: null } as unknown as LiveAllocation];
    cell.load();
    await cell.clock.advance(1_000);
    expect([cell.job.stale, cell.decisions]).toEqual([true, 0]);
  });
});
