import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import { BULK_JOBS_MAX } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { TracePod } from '../openb/openb.ts';
import { podJob } from '../openb/openb.ts';

export interface Submitted {
  readonly accepted: number;
  /** By reason: how many the cell refused to take at all. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Jobs of one call: its transactions keep the store busy, and a monitor's other callers wait some ten milliseconds. */
const TOGETHER = Math.min(500, BULK_JOBS_MAX);
/** A pod whose submission met a busy store is sent again: the same file twice is one job. */
const TRIES_MAX = 8;
const RETRY_MS = 500;
const TIMEOUT_MS = 60_000;

/** Submits each pod as a job of its own, in order, many in one call. */
export async function submitPods(
  api: MonitorClient,
  pods: readonly TracePod[],
  options: {
    readonly namespace: string;
    readonly signal: AbortSignal;
    readonly sleep: (ms: number) => Promise<void>;
    readonly onProgress: (done: number) => void;
  },
): Promise<Submitted> {
  const refused = new Map<string, number>();
  let accepted = 0;
  for (let at = 0; at < pods.length && !options.signal.aborted; at += TOGETHER) {
    let left = pods.slice(at, at + TOGETHER);
    for (let tries = 1; left.length > 0 && !options.signal.aborted; tries++) {
      const isLast = tries >= TRIES_MAX;
      const again: TracePod[] = [];
      for (const [i, code] of (await sendAll(api, left, options.namespace, isLast)).entries()) {
        const pod = left[i];
        if (code === null) accepted += 1;
        else if (pod !== undefined && code === BUSY && !isLast) again.push(pod);
        else refused.set(code, (refused.get(code) ?? 0) + 1);
      }
      left = again;
      if (left.length > 0) await options.sleep(RETRY_MS);
    }
    options.onProgress(Math.min(pods.length, at + TOGETHER));
  }
  return { accepted, refused };
}

const BUSY = 'busy';

/** @returns for each pod null, or why it was not taken */
async function sendAll(
  api: MonitorClient,
  pods: readonly TracePod[],
  namespace: string,
  isLast: boolean,
): Promise<readonly (string | null)[]> {
  try {
    const body = pods.map((pod) => podJob(pod, namespace));
    const { results } = await api.submitMany(body, { timeoutMs: TIMEOUT_MS });
    return results.map((result) => {
      if (!('problem' in result)) return null;
      return result.problem.status >= 500 ? BUSY : result.problem.code;
    });
  } catch (error) {
    if (isLast) throw error;
    // 408: the monitor had no time to read the request; nothing was done.
    const isBusy = !(error instanceof ProblemError) || error.problem.status >= 500;
    if (!isBusy && error.problem.status !== 408) throw error;
    return pods.map(() => BUSY);
  }
}
