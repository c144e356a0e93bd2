import type { JobSource, SimJob } from './workload.ts';

/**
 * Jobs of a list in the order of their submission.
 * @param scale divides the time between submissions; how long jobs run stays
 */
export function listedJobs(jobs: readonly SimJob[], scale: number): JobSource {
  const ordered = [...jobs].sort((a, b) => a.submitSeconds - b.submitSeconds || a.id - b.id);
  const first = ordered[0]?.submitSeconds ?? 0;
  let at = 0;
  return {
    next: () => {
      const job = ordered[at++];
      return job === undefined ? null : { ...job, submitSeconds: (job.submitSeconds - first) / scale };
    },
  };
}

/** When the last job would end if none had to wait, seconds from the first submission. */
export function lastEnd(jobs: readonly SimJob[], scale: number): number {
  let first = Infinity;
  for (const { submitSeconds } of jobs) first = Math.min(first, submitSeconds);
  let last = 0;
  for (const { submitSeconds, runtimeSeconds } of jobs)
    last = Math.max(last, (submitSeconds - first) / scale + runtimeSeconds);
  return last;
}
