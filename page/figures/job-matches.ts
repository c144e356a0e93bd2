import type { JobSummary } from '../../src/wire/api/monitor-api.ts';

/** Every word of the filter stands in the job's name, namespace, type, phase, or owner. */
export function jobMatches(job: JobSummary, filter: string): boolean {
  const text = [`${job.namespace}/${job.name}`, job.type, job.phase, job.owner ?? ''].join(' ').toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Something that is wanted has no place, or has not started. */
export function isWaiting({ desired, phase, counts }: JobSummary): boolean {
  if (desired === 'stop' || phase === 'complete' || phase === 'failed' || phase === 'stopped') return false;
  return counts.placed + counts.complete + counts.failed < counts.desired;
}
