import { beforeEach, describe, expect, it } from 'vitest';
import type { Term } from '../../../schedulers/context.ts';
import type { JobIntakeParts } from '../../../schedulers/job-intake.ts';
import { JobIntake } from '../../../schedulers/job-intake.ts';
import { NOTHING_STORED } from '../../../schedulers/job-loader.ts';
import { OwnedJob } from '../../../schedulers/owned-job.ts';
import { silentLog } from '../../../src/adapters/telemetry/silent.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { makeJob } from './cell-world.ts';

/** A job after a restore: whether all of it is taken up, and what comes of that. */
class Intake {
  readonly clock = new ManualClock();
  readonly job = new OwnedJob({ job: makeJob('web'), version: 1, desired: 'stop', submittedAtMs: 1 }, 1, 1);
  isWhole = false;
  /** Told while its strays are taken up. */
  meanwhile = (): void => undefined;
  reads = 0;
  looks = 0;
  readonly #intake = new JobIntake(
    {
      world: { clock: this.clock, log: silentLog },
      signal: new AbortController().signal,
      look: () => (this.looks += 1),
    } as unknown as Term,
    {
      loader: {
        load: () => {
          this.reads += 1;
          return Promise.resolve(NOTHING_STORED);
        },
      },
      reports: { hostsChanged: () => undefined },
      strays: {
        takeUp: () => {
          this.meanwhile();
          return Promise.resolve(this.isWhole);
        },
      },
    } as unknown as JobIntakeParts,
  );

  load(): void {
    this.job.stale = true;
    void this.#intake.load(this.job, 0);
  }
}

describe('a job of which hosts have what a restored store does not', () => {
  let cell: Intake;
  beforeEach(() => (cell = new Intake()));

  it('I55 is looked at when it is to stop, and is in part until all is taken up', async () => {
    cell.load();
    await cell.clock.advance(10);
    expect([cell.job.stale, cell.job.inPart, cell.looks]).toEqual([false, true, 1]);
    cell.isWhole = true;
    await cell.clock.advance(1_000);
    expect([cell.job.stale, cell.job.inPart, cell.looks]).toEqual([false, false, 2]);
    expect(cell.reads).toBe(2);
  });

  it('I53 is not looked at when it is to run: its slots may be filled already', async () => {
    cell.job.record = { ...cell.job.record, desired: 'run' };
    cell.load();
    await cell.clock.advance(1_000);
    expect([cell.job.stale, cell.looks]).toEqual([true, 0]);
    expect(cell.reads).toBeGreaterThan(1);
    cell.isWhole = true;
    await cell.clock.advance(1_000);
    expect([cell.job.stale, cell.looks]).toEqual([false, 1]);
  });

  it('is read again when something of it landed meanwhile', async () => {
    cell.isWhole = true;
    cell.meanwhile = () => {
      if (cell.reads === 1) cell.job.landings += 1;
    };
    cell.load();
    await cell.clock.advance(10);
    expect([cell.reads, cell.looks]).toEqual([2, 1]);
  });
});
