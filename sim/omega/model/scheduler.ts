import type { SeededRandom } from '../../../src/core/random/random.ts';
import type { CoreCommit, Landed } from './core-commit.ts';
import { Fifo } from './fifo.ts';
import type { AttemptEnd, SchedulerMeter } from './meters.ts';
import type { Placed } from './placer.ts';
import { Placer } from './placer.ts';
import { PrivateCopy } from './private-copy.ts';
import { WaitQueue } from './wait-queue.ts';
import type { JobState, ModelWorld } from './model.ts';

/** A scheduler of any design. */
export interface JobScheduler {
  readonly meter: SchedulerMeter;
  submit(state: JobState): void;
}

/**
 * One scheduler with one queue, one job at a time. An attempt begins with a full copy of the cell, takes the decision time,
 * ends with a placement on that copy, and commits it at once. Without a commit (monolithic) the cell itself is the copy:
 * only the ends of tasks change it, too.
 */
export class SimScheduler implements JobScheduler {
  readonly meter: SchedulerMeter;
  readonly #world: ModelWorld;
  readonly #placer: Placer;
  readonly #commit: CoreCommit | null;
  readonly #copy: PrivateCopy | null;
  readonly #queue = new Fifo<JobState>();
  /** Jobs that have waited for capacity come before new ones. */
  readonly #woken = new Fifo<JobState>();
  readonly #waiting: WaitQueue;
  #busy = false;

  /** @param commit null: monolithic */
  constructor(world: ModelWorld, meter: SchedulerMeter, commit: CoreCommit | null, chance: SeededRandom) {
    this.meter = meter;
    this.#world = world;
    this.#commit = commit;
    this.#copy = commit === null ? null : new PrivateCopy(world.cell);
    this.#placer = new Placer(world.cell.hosts, world.cell.groupBit, world.spec.placement, chance);
    this.#waiting = new WaitQueue(world.cell, (state) => this.#enqueue(state, this.#woken));
    if (world.spec.retry.waitsForRoom) world.onFreed(() => this.#waiting.releaseFitting());
  }

  submit(state: JobState): void {
    this.meter.thinkSecondsWanted += this.#world.thinkSeconds(state);
    this.#enqueue(state);
  }

  #enqueue(state: JobState, queue = this.#queue): void {
    queue.push(state);
    if (!this.#busy) this.#next();
  }

  #next(): void {
    const state = this.#woken.shift() ?? this.#queue.shift();
    this.#busy = state !== undefined;
    if (state === undefined) return;
    this.#world.firstTry(state);
    this.#copy?.sync(this.#world.cell);
    const begun = { seconds: this.#world.time.nowSeconds, ends: this.#world.ends };
    this.#world.time.after(this.#world.thinkSeconds(state), 'decided', () => {
      this.#decided(state, begun);
      this.#next();
    });
  }

  #decided(state: JobState, begun: { readonly seconds: number; readonly ends: number }): void {
    state.tries += 1;
    const { end, landed } = this.#attempt(state);
    this.meter.thought(end, begun.seconds, this.#world.time.nowSeconds);
    if (landed !== null && landed.hosts.length > 0) this.#world.started(state, landed);
    if (state.unplaced === 0 || this.#world.givesUp(state)) return;
    if (end === 'no-capacity' && this.#world.spec.retry.waitsForRoom) {
      this.#waiting.add(state);
      // What was freed meanwhile is not in the copy: another attempt may find it.
      if (this.#world.ends !== begun.ends) this.#waiting.releaseFitting();
    } else this.#world.time.after(this.#world.spec.retry.delaySeconds, 'again', () => this.#enqueue(state));
  }

  #attempt(state: JobState): { end: AttemptEnd; landed: Landed | null } {
    const { job, unplaced } = state;
    const { cell } = this.#world;
    const free = this.#copy ?? cell;
    this.#world.countUse();
    const placed = this.#placer.place(free, job, unplaced);
    if (placed.count === 0 || (job.gang && placed.count < unplaced)) {
      this.#placer.undo(free, job.shape, placed);
      return { end: 'no-capacity', landed: null };
    }
    if (this.#copy === null || this.#commit === null)
      return { end: 'useful', landed: this.#straight(state, placed) };
    const atomicity = job.gang ? 'all-or-nothing' : this.#world.spec.atomicity;
    const landed = this.#commit.commit(this.#copy, placed, job, atomicity);
    this.meter.committed(landed);
    return { end: landed.conflicts === 0 ? 'useful' : 'wasted', landed };
  }

  #straight({ job }: JobState, { count, hosts, devices }: Placed): Landed {
    for (let task = 0; task < count; task++) this.#world.cell.counted(hosts[task]!, job.shape);
    const landed = { hosts: hosts.slice(0, count), devices, conflicts: 0, rebased: 0 };
    this.meter.committed(landed);
    return landed;
  }
}
