import { ProblemError } from '../../src/wire/problem.ts';
import type { CellApi } from '../cell-api.ts';
import type { TracePod } from './openb.ts';
import { podJob } from './openb.ts';

export interface Submitted {
  readonly accepted: number;
  /** By reason: how many the cell refused to take at all. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Calls under way at once: enough to keep a monitor and its store busy, few enough to leave the schedulers the rest. */
const IN_FLIGHT = 32;
/** A pod whose submission met a busy store is sent again: the same file twice is one job. */
const TRIES_MAX = 8;
const RETRY_MS = 500;

/** Submits each pod as a job of its own, in order, some at a time. */
export async function submitPods(
  api: CellApi,
  pods: readonly TracePod[],
  options: {
    readonly namespace: string;
    readonly signal: AbortSignal;
    readonly sleep: (ms: number) => Promise<void>;
    readonly onProgress: (done: number) => void;
  },
): Promise<Submitted> {
  const refused = new Map<string, number>();
  let next = 0;
  let accepted = 0;
  const one = async (pod: TracePod): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        await api.post('/v1/jobs', { body: podJob(pod, options.namespace) }, true);
        accepted += 1;
        return;
      } catch (error) {
        const busy = !(error instanceof ProblemError) || error.problem.status >= 500;
        if (busy && tries < TRIES_MAX && !options.signal.aborted) {
          await options.sleep(RETRY_MS);
          continue;
        }
        if (!(error instanceof ProblemError)) throw error;
        refused.set(error.problem.code, (refused.get(error.problem.code) ?? 0) + 1);
        return;
      }
    }
  };
  const worker = async (): Promise<void> => {
    while (next < pods.length && !options.signal.aborted) {
      const pod = pods[next++];
      if (pod !== undefined) await one(pod);
      options.onProgress(next);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, pods.length) }, worker));
  return { accepted, refused };
}
