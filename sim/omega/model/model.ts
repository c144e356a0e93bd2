/**
 * A cell and its schedulers. A scheduler takes a job from its queue, copies the cell, waits for its decision time, places tasks on the copy
 * and commits them to the shared cell; what conflicts goes back into its queue. Task ends free their resources.
 *
 * - `spec.ts`: what decides a run, and the three designs; `virtual-time.ts`: the agenda in seconds
 * - `shared-cell.ts`: the truth that schedulers share; `free-capacity.ts`: what is free on each host; `private-copy.ts`: a scheduler's copy
 * - `scheduler.ts`: monolithic and shared-state schedulers; `offers.ts`: the two-level design of Mesos
 * - `placer.ts`: chooses hosts; `ranking.ts`: all hosts that fit, the fullest first
 * - `core-commit.ts`: commits by the rules of `src/core`
 * - `fifo.ts`: the queue; `wait-queue.ts`: jobs that wait until enough is free
 * - `meters.ts`: what schedulers and classes of jobs did; `statistics.ts`: means and percentiles
 *
 * This file holds what the schedulers of one run share beside the cell.
 */
import type { GpuShare } from '../../../src/core/cell/resources.ts';
import type { SimJob, WorkClass } from '../workload/workload.ts';
import type { ClassMeter } from './meters.ts';
import { Slices } from './meters.ts';
import { NO_DEVICES } from './free-capacity.ts';
import type { SharedCell } from './shared-cell.ts';
import type { ModelSpec } from './spec.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A job on its way: how much of it is placed, and how often it was tried. */
export interface JobState {
  readonly job: SimJob;
  unplaced: number;
  tries: number;
}

/** Tasks that were claimed: their hosts, and devices where they want any. */
export interface Started {
  readonly hosts: Int32Array;
  readonly devices: readonly (readonly GpuShare[])[] | null;
}

/** What was used of the cell, summed over time. */
export interface UseMeter {
  readonly cpuMilli: Slices;
  readonly memoryMib: Slices;
}

/** Called after tasks have ended and freed their resources. */
export type FreedListener = () => void;

/** What schedulers of one run share beside the cell: time, chance, and the account of what happens. */
export class ModelWorld {
  readonly spec: ModelSpec;
  readonly time: VirtualTime;
  readonly cell: SharedCell;
  readonly used: UseMeter;
  readonly #classes: Readonly<Record<WorkClass, ClassMeter>>;
  readonly #onFreed: FreedListener[] = [];
  readonly #useMeters: UseMeter[] = [];
  #countedTo = 0;
  #ends = 0;

  constructor(
    spec: ModelSpec,
    parts: {
      readonly time: VirtualTime;
      readonly cell: SharedCell;
      readonly classes: Readonly<Record<WorkClass, ClassMeter>>;
      readonly sliceSeconds: number;
    },
  ) {
    this.spec = spec;
    this.time = parts.time;
    this.cell = parts.cell;
    this.#classes = parts.classes;
    this.used = this.meterUse(parts.sliceSeconds);
  }

  /** How often tasks have ended so far. */
  get ends(): number {
    return this.#ends;
  }

  /** An account of what is used, by slices of that length. To be asked for before the run begins. */
  meterUse(sliceSeconds: number): UseMeter {
    const slices = (): Slices => new Slices(this.spec.horizonSeconds, sliceSeconds);
    const meter = { cpuMilli: slices(), memoryMib: slices() };
    this.#useMeters.push(meter);
    return meter;
  }

  onFreed(listener: FreedListener): void {
    this.#onFreed.push(listener);
  }

  /** Brings the account of what is used up to now. To be called before it changes, and at the end. */
  countUse(): void {
    const now = this.time.nowSeconds;
    for (const { cpuMilli, memoryMib } of this.#useMeters) {
      cpuMilli.add(this.#countedTo, now, this.cell.cpuMilliUsed);
      memoryMib.add(this.#countedTo, now, this.cell.memoryMibUsed);
    }
    this.#countedTo = now;
  }

  /**
   * Tasks of a job start now, all together, and will end together. They must have been claimed.
   * @param onEnd called after their resources are free, before any scheduler is woken
   */
  started(state: JobState, landed: Started, onEnd?: () => void): void {
    const { job } = state;
    const { hosts } = landed;
    const meter = this.#classes[job.work];
    state.unplaced -= hosts.length;
    meter.tasksPlaced += hosts.length;
    if (state.unplaced === 0) {
      const waited = this.#since(job);
      meter.placed.push(waited);
      meter.slowdownSum += Math.max(
        1,
        (waited + job.runtimeSeconds) / Math.max(SHORT_SECONDS, job.runtimeSeconds),
      );
    }
    this.time.after(job.runtimeSeconds, 'end', () => this.ended(job, landed, onEnd));
  }

  /** Tasks are over, and their space is free. */
  ended({ shape }: SimJob, { hosts, devices }: Started, onEnd?: () => void): void {
    this.countUse();
    for (let task = 0; task < hosts.length; task++)
      this.cell.free(hosts[task]!, shape, devices?.[task] ?? NO_DEVICES);
    this.#ends += 1;
    onEnd?.();
    for (const listener of this.#onFreed) listener();
  }

  firstTry({ job, tries }: JobState): void {
    if (tries === 0) this.#classes[job.work].waits.push(this.#since(job));
  }

  /**
   * After an attempt: is the job to be given up? Nothing placed of it for too long, or too many tries.
   * @returns true: it is, and was counted
   */
  givesUp({ job, tries, unplaced }: JobState): boolean {
    const { emptyTriesMax, triesMax } = this.spec.retry;
    const empty = unplaced === job.tasks;
    if (!(empty && tries > emptyTriesMax) && tries <= triesMax) return false;
    this.#classes[job.work].abandoned += 1;
    return true;
  }

  /** Never below zero: the agenda's milliseconds may differ from the trace's seconds in the last bit. */
  #since({ submitSeconds }: SimJob): number {
    return Math.max(0, this.time.nowSeconds - submitSeconds);
  }

  thinkSeconds({ job, unplaced }: JobState): number {
    const { jobSeconds, taskSeconds } = this.spec.decision[job.work];
    return jobSeconds + taskSeconds * unplaced;
  }
}

/** Below this a run time says little: the bound of the bounded slowdown. */
const SHORT_SECONDS = 10;
