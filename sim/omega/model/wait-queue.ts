import type { JobState } from './model.ts';

/** How much the whole cell has, and how much of it is given away. */
export interface CellSum {
  readonly cpuMilliTotal: number;
  readonly memoryMibTotal: number;
  readonly cpuMilliUsed: number;
  readonly memoryMibUsed: number;
}

/** What must be free in the whole cell before another try of a job is worth its time. */
interface Need {
  readonly cpuMilli: number;
  readonly memoryMib: number;
}

/** Jobs that need the same. The one that was submitted first stands last, where taking it moves nothing. */
interface Bucket extends Need {
  readonly jobs: JobState[];
}

/**
 * Jobs without a place, in the order of their submission. When tasks have ended, as many are released as the free cpu and memory of the whole
 * cell could hold, so that a long queue does not use up its scheduler's time.
 *
 * They lie in buckets by what they need, of which there are few, so that each bucket is compared once instead of each job. What is free only
 * shrinks during a release, so a bucket that no longer fits is done, and the next job is the earliest head of the other buckets.
 */
export class WaitQueue {
  readonly #cell: CellSum;
  readonly #release: (state: JobState) => void;
  readonly #buckets = new Map<string, Bucket>();

  constructor(cell: CellSum, release: (state: JobState) => void) {
    this.#cell = cell;
    this.#release = release;
  }

  add(state: JobState): void {
    const need = needOf(state);
    const key = `${String(need.cpuMilli)} ${String(need.memoryMib)}`;
    const bucket = this.#buckets.get(key) ?? { ...need, jobs: [] };
    if (bucket.jobs.length === 0) this.#buckets.set(key, bucket);
    bucket.jobs.splice(placeIn(bucket.jobs, state), 0, state);
  }

  releaseFitting(): void {
    if (this.#buckets.size === 0) return;
    for (const state of this.#takeFitting()) this.#release(state);
  }

  #takeFitting(): JobState[] {
    let cpuMilli = this.#cell.cpuMilliTotal - this.#cell.cpuMilliUsed;
    let memoryMib = this.#cell.memoryMibTotal - this.#cell.memoryMibUsed;
    const fits = (need: Need): boolean => need.cpuMilli <= cpuMilli && need.memoryMib <= memoryMib;
    const taken: JobState[] = [];
    let open = [...this.#buckets].filter(([, bucket]) => fits(bucket));
    while (open.length > 0) {
      const [key, bucket] = open.reduce((one, other) => (isEarlier(other[1], one[1]) ? other : one));
      taken.push(bucket.jobs.pop()!);
      cpuMilli -= bucket.cpuMilli;
      memoryMib -= bucket.memoryMib;
      if (bucket.jobs.length === 0) this.#buckets.delete(key);
      open = open.filter(([, one]) => one.jobs.length > 0 && fits(one));
    }
    return taken;
  }
}

/** A gang needs capacity for all of its tasks; any other job for one. */
function needOf({ job: { shape, gang }, unplaced }: JobState): Need {
  const tasks = gang ? unplaced : 1;
  return { cpuMilli: tasks * shape.cpuMilli, memoryMib: tasks * shape.memoryMib };
}

/** The place of the job in a list that ends with the job that was submitted first. */
function placeIn(line: readonly JobState[], state: JobState): number {
  let [low, high] = [0, line.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isLater(line[middle]!, state)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isEarlier = (one: Bucket, other: Bucket): boolean => isLater(other.jobs.at(-1)!, one.jobs.at(-1)!);

function isLater({ job: one }: JobState, { job: other }: JobState): boolean {
  return (
    one.submitSeconds > other.submitSeconds ||
    (one.submitSeconds === other.submitSeconds && one.id > other.id)
  );
}
