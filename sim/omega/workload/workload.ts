/**
 * Jobs and cells of the model.
 *
 * - `distribution.ts`: how a number is drawn
 * - `cells.ts`: stand-ins for the paper's cells A, B, C and D, and the example of Omega's simulator
 * - `drawn-jobs.ts`: jobs drawn from a class's distributions; `listed-jobs.ts`: jobs of a list; `swf.ts`: reads a trace in the Standard
 *   Workload Format
 */
import type { GpuRequest } from '../../../src/core/cell/resources.ts';
import type { Distribution } from './distribution.ts';

/** The two kinds of work that Omega tells apart: what ends by itself, and what stays. */
export const WORK_CLASSES = ['batch', 'service'] as const;
export type WorkClass = (typeof WORK_CLASSES)[number];

/** A job of a simulation: identical tasks that all run equally long, each from its own start. */
export interface SimJob {
  readonly id: number;
  readonly work: WorkClass;
  readonly submitSeconds: number;
  readonly tasks: number;
  readonly runtimeSeconds: number;
  readonly shape: TaskShape;
  /** All tasks start together or none does. */
  readonly gang: boolean;
  /** Bits of the host groups that will do; `ANY_HOST`: all. */
  readonly hostGroups: number;
}

/** What one task takes of its host. */
export interface TaskShape {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpu: GpuRequest | null;
}

export const ANY_HOST = -1;
/** Hosts are dealt out to at most so many groups: the bits of one small integer. */
export const HOST_GROUPS_MAX = 30;

export interface HostKind {
  readonly count: number;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** The model of each device. */
  readonly gpuModels: readonly string[];
}

/** What runs when a simulation begins. */
export interface Prefill {
  /** Of the cell's cpu. */
  readonly cpuShare: number;
  /** Whose tasks. */
  readonly work: WorkClass;
  /** `standing`: to the end of the run. `residual`: what is left of a lifetime met at a random moment. */
  readonly lives: 'standing' | 'residual';
}

export interface CellShape {
  readonly hosts: readonly HostKind[];
  readonly prefill: readonly Prefill[];
  /** Hosts are dealt out to so many groups by chance, for jobs that only some hosts can take. */
  readonly hostGroups: number;
}

/** The submissions of one class, by their distributions. */
export interface ClassLoad {
  readonly gapSeconds: Distribution;
  /** Rounded up to whole tasks. */
  readonly tasks: Distribution;
  readonly runtimeSeconds: Distribution;
  readonly shapes: readonly WeightedShape[];
  readonly gang: boolean;
  readonly constraint: Constraint | null;
}

export interface WeightedShape extends TaskShape {
  readonly weight: number;
}

/** A share of the jobs may only use a share of the hosts, drawn for each. */
export interface Constraint {
  readonly jobShare: number;
  readonly hostShare: number;
}

export interface DrawnLoad {
  readonly batch: ClassLoad | null;
  readonly service: ClassLoad | null;
}

/** Where jobs come from, ordered by submission. */
export interface JobSource {
  /** null: there are no more. */
  next(): SimJob | null;
}
