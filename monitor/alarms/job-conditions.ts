import { isLooping, restartsText } from '../../src/core/slots/restarts.ts';
import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import { plural } from '../../src/wire/values/words.ts';
import type { Condition } from './held-conditions.ts';

/** What may not last about one job: it waits, it does not end, or it loops. */
export function conditionsOfJob(summary: JobSummary, nowMs: number, afterMs: number): Condition[] {
  const { namespace, name, phase, counts, restarts } = summary;
  if (phase !== 'pending' && phase !== 'running') return [];
  const subject = `${namespace}/${name}`;
  if (summary.desired === 'stop') {
    if (counts.placed === 0) return [];
    const detail = `${plural(counts.placed, 'allocation')} still placed, though the job is to stop`;
    return [{ kind: 'stopping', subject, detail, afterMs }];
  }
  const found: Condition[] = [];
  const waiting = withoutHost(summary);
  if (waiting > 0) {
    const detail = `${plural(waiting, 'allocation')} without a host`;
    found.push({ kind: 'waiting', subject, detail, afterMs });
  }
  if (isLooping(restarts, nowMs)) {
    const detail = `started again ${restartsText(restarts)}`;
    found.push({ kind: 'looping', subject, detail, afterMs });
  }
  return found;
}

/** Of a batch job, slots that ended for good want no host any more, however they ended. */
function withoutHost({ type, counts }: JobSummary): number {
  const ended = type === 'batch' ? counts.complete + counts.failed : 0;
  return Math.max(0, counts.desired - counts.placed - ended);
}
