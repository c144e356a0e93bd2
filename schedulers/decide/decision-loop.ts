import type { Eviction, Release } from '../../src/core/commit/plan.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { Waker } from '../../src/runtime/wait/waker.ts';
import { Breath } from '../state/time-slice.ts';
import type { Term } from '../state/state.ts';
import type { DecidedPlan, Decider, Turn } from './decide.ts';
import { FairQueue } from './fair-queue.ts';
import type { Launcher } from '../commit/commit.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';

/**
 * Placements between decision and commit, those that wait for tickets included; beyond it deciding waits. A job that comes now
 * waits for all of them (S3.47). Eight transactions for many hosts hold as many, and more brought no more of them; how many
 * may be at the commit itself goes by what the store takes, which is less where it is slow.
 */
const UNDER_WAY_MAX = 2_048;
/** Jobs' turns before others in this process have theirs. */
const STRETCH_TURNS = 128;

/** What a millisecond of deciding counts for in the queue: constrained single decisions take some 6 µs each. */
const PLACEMENTS_PER_MS = 150;

export interface DecisionLoopParts {
  readonly decider: Decider;
  readonly launcher: Launcher;
  readonly jobOf: (key: string) => OwnedJob | undefined;
  /** A decision was made: reports about its entries must find them. */
  readonly onDecided: (job: OwnedJob, entry: Entry) => void;
  /** How many placements may be at the commit at once, as fast as the store is now. */
  readonly storeTakes: () => number;
  /** No more is decided for now: what waits for its commit shall go. */
  readonly onPause: () => void;
}

/** Gives the jobs their turns, one after the other, and hands what they decide to the launcher. */
export class DecisionLoop {
  readonly #term: Term;
  readonly #parts: DecisionLoopParts;
  readonly #queue = new FairQueue();
  readonly #work = new Waker();
  #isDeciding = false;

  constructor(term: Term, parts: DecisionLoopParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** More jobs wait for their turn, and it comes at once. */
  get isDeciding(): boolean {
    return this.#isDeciding;
  }

  /** Jobs that wait for their turn, and placements that wait for their commit. */
  get backlog(): number {
    return this.#queue.size + this.#parts.launcher.underWay;
  }

  /** The job's turn will come. */
  push(job: OwnedJob): void {
    this.#queue.push(job.namespace, job.record.job.precedence, job.key);
    this.#work.wake();
  }

  remove(jobKey: string): void {
    this.#queue.remove(jobKey);
  }

  /** Until the term is over. */
  async run(): Promise<void> {
    const { world, signal, options } = this.#term;
    const breath = new Breath(world.clock, signal, STRETCH_TURNS);
    while (!signal.aborted) {
      const key = this.#mayDecide() ? this.#queue.next() : undefined;
      const job = key === undefined ? undefined : this.#parts.jobOf(key);
      if (key === undefined) {
        this.#pause();
        await this.#work.wait(signal);
        breath.begin();
        continue;
      }
      if (job === undefined) continue;
      const turn = this.#turn(job);
      // While it thinks, as studies have it, what was decided before must not wait.
      this.#isDeciding = options.thinkMs === null && this.#queue.size > 0;
      if (options.thinkMs !== null) await this.#think(options.thinkMs, turn);
      this.#launchAll(job, turn);
      if (!breath.step()) continue;
      this.#pause();
      await breath.take();
    }
  }

  #mayDecide(): boolean {
    const { launcher, storeTakes } = this.#parts;
    return launcher.underWay < UNDER_WAY_MAX && launcher.committing < storeTakes();
  }

  /** As the launcher's. */
  launch(
    job: OwnedJob,
    { id, entries, atomicity }: DecidedPlan,
    evictions?: readonly Eviction[],
    releases?: readonly Release[],
  ): Promise<boolean> {
    return this.#parts.launcher.launch(job, id, entries, atomicity, evictions, releases);
  }

  /** A plan has come to its end: there is room for others. */
  launched(): void {
    this.#work.wake();
  }

  #pause(): void {
    this.#isDeciding = false;
    this.#parts.onPause();
  }

  #turn(job: OwnedJob): Turn {
    const { clock } = this.#term.world;
    const startedMs = clock.monotonicMs();
    const turn = this.#parts.decider.turn(job);
    for (const plan of turn.plans) for (const entry of plan.entries) this.#parts.onDecided(job, entry);
    const tookMs = clock.monotonicMs() - startedMs;
    // By time as well: a picky job that searches long and places nothing pays for its search (S3.48).
    this.#queue.charge(job.namespace, Math.max(1, turn.placed, tookMs * PLACEMENTS_PER_MS));
    this.#term.stats.busyMs += tookMs;
    return turn;
  }

  /** Omega's model: a decision takes t_job + t_task for each task, and is committed at its end. */
  async #think(thinkMs: { readonly job: number; readonly task: number }, turn: Turn): Promise<void> {
    if (turn.plans.length === 0) return;
    const durationMs = thinkMs.job + thinkMs.task * turn.placed;
    this.#term.stats.busyMs += durationMs;
    await sleep(this.#term.world.clock, durationMs, this.#term.signal);
  }

  #launchAll(job: OwnedJob, turn: Turn): void {
    if (job.dropped) return;
    for (const plan of turn.plans) void this.launch(job, plan);
    if (turn.more) this.#term.look(job);
  }
}
