import type { WorkClass } from '../workload/workload.ts';
import type { Landed } from './core-commit.ts';

/** The time that a result is about. */
export interface Span {
  readonly seconds: number;
  /** null: the run went to its horizon. */
  readonly stoppedAtSeconds: number | null;
}

/** Nothing of no time at all: a run may be stopped before anything happened. */
export const shareOf = (sum: number, whole: number): number => (whole === 0 ? 0 : sum / whole);

/** Sums of something over equal slices of the run. */
export class Slices {
  readonly seconds: number;
  readonly sums: number[];

  constructor(horizonSeconds: number, sliceSeconds: number) {
    this.seconds = sliceSeconds;
    this.sums = new Array<number>(Math.max(1, Math.round(horizonSeconds / sliceSeconds))).fill(0);
  }

  /** Adds `rate` for each second from `from` to `to`, to the slices in which these seconds lie. */
  add(from: number, to: number, rate: number): void {
    let at = from;
    while (at < to) {
      const slice = Math.min(this.sums.length - 1, Math.floor(at / this.seconds));
      const end = slice === this.sums.length - 1 ? to : Math.min(to, (slice + 1) * this.seconds);
      this.sums[slice]! += (end - at) * rate;
      // The end of a slice as a number may lie a hair before its beginning.
      at = end > at ? end : to;
    }
  }

  /** Over all slices. */
  get total(): number {
    return this.sums.reduce((total, one) => total + one, 0);
  }

  /**
   * How many of the slices say something of a run that went so far: those that it saw whole, or the first, when it was stopped
   * within that.
   */
  seen(stoppedAtSeconds: number | null): number {
    if (stoppedAtSeconds === null) return this.sums.length;
    return Math.min(this.sums.length, Math.max(1, Math.floor(stoppedAtSeconds / this.seconds)));
  }
}

/** How an attempt ended, for the account of the time that it took. */
export type AttemptEnd = 'useful' | 'wasted' | 'no-capacity';

/** Whose jobs a scheduler takes. */
export type SchedulerWork = WorkClass | 'all' | 'elastic';

/** What one scheduler did. */
export class SchedulerMeter {
  readonly name: string;
  readonly work: SchedulerWork;
  readonly useful: Slices;
  readonly wasted: Slices;
  readonly noCapacity: Slices;
  /** Transactions without a conflict, and with. */
  succeeded = 0;
  failed = 0;
  tasksCommitted = 0;
  tasksConflicted = 0;
  tasksRebased = 0;
  attempts = 0;
  /** What it would be busy without conflicts, from what was submitted to it. */
  thinkSecondsWanted = 0;

  constructor(name: string, work: SchedulerWork, horizonSeconds: number, sliceSeconds: number) {
    this.name = name;
    this.work = work;
    const slices = (): Slices => new Slices(horizonSeconds, sliceSeconds);
    [this.useful, this.wasted, this.noCapacity] = [slices(), slices(), slices()];
  }

  /** One transaction, and what landed of it. */
  committed({ hosts, conflicts, rebased }: Landed): void {
    this.tasksCommitted += hosts.length;
    this.tasksConflicted += conflicts;
    this.tasksRebased += rebased;
    if (conflicts === 0) this.succeeded += 1;
    else this.failed += 1;
  }

  thought(end: AttemptEnd, fromSeconds: number, toSeconds: number): void {
    this.attempts += 1;
    const slices = { useful: this.useful, wasted: this.wasted, 'no-capacity': this.noCapacity }[end];
    slices.add(fromSeconds, toSeconds, 1);
  }
}

/** What became of the jobs of one class. */
export class ClassMeter {
  readonly work: WorkClass;
  /** Submission to the start of the first attempt, of every job that had one. */
  readonly waits: number[] = [];
  /** Submission to the moment when its last task was placed. */
  readonly placed: number[] = [];
  /** The same over the job's run time, at least ten seconds of it: the bounded slowdown of batch systems. */
  slowdownSum = 0;
  submitted = 0;
  tasksSubmitted = 0;
  tasksPlaced = 0;
  abandoned = 0;

  constructor(work: WorkClass) {
    this.work = work;
  }
}
