import type { SharedCell } from './shared-cell.ts';
import type { JobState } from './world.ts';

/**
 * Jobs that found no room, in the order in which they were submitted, however often they looked. When tasks have ended they are let go again, as
 * many as the free cpu and memory of the whole cell could hold, so that a long line does not burn its scheduler's time.
 */
export class Waiting {
  readonly #cell: SharedCell;
  readonly #release: (state: JobState) => void;
  #line: JobState[] = [];

  constructor(cell: SharedCell, release: (state: JobState) => void) {
    this.#cell = cell;
    this.#release = release;
  }

  add(state: JobState): void {
    let at = this.#line.length;
    while (at > 0 && isLater(this.#line[at - 1]!, state)) at -= 1;
    this.#line.splice(at, 0, state);
  }

  look(): void {
    if (this.#line.length === 0) return;
    let cpuMilli = this.#cell.cpuMilliTotal - this.#cell.cpuMilliUsed;
    let memoryMib = this.#cell.memoryMibTotal - this.#cell.memoryMibUsed;
    const stay: JobState[] = [];
    const go: JobState[] = [];
    for (const state of this.#line) {
      const { shape, gang } = state.job;
      const tasks = gang ? state.unplaced : 1;
      if (tasks * shape.cpuMilli > cpuMilli || tasks * shape.memoryMib > memoryMib) {
        stay.push(state);
        continue;
      }
      cpuMilli -= tasks * shape.cpuMilli;
      memoryMib -= tasks * shape.memoryMib;
      go.push(state);
    }
    if (go.length === 0) return;
    this.#line = stay;
    for (const state of go) this.#release(state);
  }
}

function isLater({ job: one }: JobState, { job: other }: JobState): boolean {
  return (
    one.submitSeconds > other.submitSeconds ||
    (one.submitSeconds === other.submitSeconds && one.id > other.id)
  );
}
