import type { Clock } from '../../ports/clock.ts';
import { jobKeyOf } from '../../core/cell/ids.ts';
import type { PartFrame, ReportFrame } from '../../wire/api/report-frames.ts';
import { JOBS_ASKED_MAX } from '../../wire/api/report-frames.ts';
import type { MergedView } from './merged-view.ts';
import type { ReportReader, ReportSource } from './stream-reader.ts';
import { SourceError } from './stream-reader.ts';

/** Until it begins to answer: a monitor has the reports in memory. Without an answer the caller asks the hosts. */
const ANSWER_MS = 1_000;

export interface JobQueriesParts {
  readonly clock: Clock;
  readonly reader: ReportReader;
  readonly merged: MergedView;
  source(): ReportSource | null;
}

interface JobQuery {
  readonly answered: Promise<boolean>;
  readonly answer: (isAll: boolean) => void;
}

/**
 * Asks the monitor in use for what hosts report of single jobs, several jobs in one request and one request at a time.
 * Schedulers need it: they keep the reports of their own jobs alone, and claim jobs whose reports they did not keep.
 */
export class JobQueries {
  readonly #parts: JobQueriesParts;
  readonly #waiting = new Map<string, JobQuery>();
  #stop: AbortController | null = null;
  #isReading = false;
  #isClosed = false;

  constructor(parts: JobQueriesParts) {
    this.#parts = parts;
  }

  /** @returns whether all that hosts report of the job is in the view */
  ask(jobKey: string): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    let query = this.#waiting.get(jobKey);
    if (query === undefined) this.#waiting.set(jobKey, (query = newQuery()));
    void this.#askAll();
    return query.answered;
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.abort();
    for (const { answer } of this.#waiting.values()) answer(false);
    this.#waiting.clear();
  }

  async #askAll(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#waiting.size > 0) {
      const queries = [...this.#waiting].slice(0, JOBS_ASKED_MAX);
      for (const [key] of queries) this.#waiting.delete(key);
      const { isComplete, behind } = await this.#read(queries.map(([key]) => key));
      for (const [key, { answer }] of queries) answer(isComplete && !behind.has(key));
    }
    this.#isReading = false;
  }

  /** @returns `behind`: jobs of which the monitor knows less than this process does */
  async #read(
    jobKeys: readonly string[],
  ): Promise<{ readonly isComplete: boolean; readonly behind: ReadonlySet<string> }> {
    const { clock, merged, reader } = this.#parts;
    const monitor = this.#parts.source();
    const behind = new Set<string>();
    if (monitor === null) return { isComplete: false, behind };
    let isComplete = false;
    const stop = new AbortController();
    this.#stop = stop;
    const cancel = clock.after(ANSWER_MS, () => stop.abort());
    const onFrame = (frame: ReportFrame): void => {
      cancel();
      if (frame.kind === 'part') {
        if (!merged.addPart(frame)) for (const key of jobsOf(frame)) behind.add(key);
      } else if (frame.kind === 'view' && frame.synced) isComplete = frame.complete;
      else throw new SourceError(`${monitor.name} does not answer for single jobs`);
    };
    merged.beginRead();
    await reader.read(monitor, `?jobs=${encodeURIComponent(jobKeys.join(','))}`, stop.signal, onFrame);
    cancel();
    merged.endRead();
    return { isComplete, behind };
  }
}

function jobsOf({ allocations }: PartFrame): readonly string[] {
  return allocations.map(({ namespace, job }) => jobKeyOf(namespace, job));
}

function newQuery(): JobQuery {
  let answer: JobQuery['answer'] = () => undefined;
  const answered = new Promise<boolean>((resolve) => (answer = resolve));
  return { answered, answer };
}
