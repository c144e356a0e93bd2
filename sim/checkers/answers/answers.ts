/**
 * What clients are told.
 *
 * - This file: what the API acknowledged is in the store (I19, I20, I46).
 * - `views.ts`: what monitors show of hosts (I48, I50, I51)
 * - `names.ts`: no name has an endpoint of what has ended (I69)
 * - `event-streams.ts`: no event twice, none left out (I52); `outcomes.ts`: every end has its outcome (I23, I52)
 * - `outputs.ts`: the output that was read is what was written (I28); `unread-outputs.ts`: all of it is read in the end; `output-index.ts`: what tasks wrote and hosts dropped
 */
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { ApiRecord, RecordedHistory, Stamp } from '../../history/history.ts';
import type { RunIndex } from '../replay/run-index.ts';
import { valueAt } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I19: what was acknowledged is durable. I20: one idempotency key makes one job, whichever monitor is asked, however often. I46: no
 * two one-off runs ever have the same name.
 */
export function checkAnswers(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const byKey = new Map<string, { readonly job: string; readonly record: ApiRecord }>();
  const byJob = new Map<string, { readonly key: string; readonly record: ApiRecord }>();
  for (const record of history.calls) {
    const { call, answer } = record;
    if (answer?.fact.result !== 'ok') continue;
    const { job } = answer.fact;
    const namespace = call.kind === 'stop' ? call.namespace : call.job.namespace;
    checkDurable(jobKeyOf(namespace, job), record, answer, run, findings);
    if (call.kind !== 'run') continue;
    const key = `${namespace}/${call.key}`;
    const first = byKey.get(key);
    if (first === undefined) byKey.set(key, { job, record });
    else if (first.job !== job)
      findings.prove('I20', key, `made ${first.job}, and ${job} when sent again`, [first.record, answer]);
    const other = byJob.get(jobKeyOf(namespace, job));
    if (other !== undefined && other.key !== key)
      findings.prove('I46', job, `is the run of ${other.key} and of ${key}`, [other.record, answer]);
    byJob.set(jobKeyOf(namespace, job), { key, record });
  }
}

function checkDurable(
  jobKey: string,
  { call }: ApiRecord,
  answered: Stamp,
  run: RunIndex,
  findings: Findings,
): void {
  const record = valueAt(run.jobs.get(jobKey) ?? [], answered.seq);
  if (record === undefined) {
    findings.prove('I19', jobKey, `its ${call.kind} was acknowledged, and the store does not have it`, [
      answered,
    ]);
    return;
  }
  const stopped = call.kind === 'stop' && record?.desired === 'run' && !changedSince(jobKey, answered, run);
  if (stopped)
    findings.prove('I19', jobKey, 'its stop was acknowledged, and it should still run', [answered]);
}

/** The job may have been submitted again between the stop and its answer; then it is to run. */
function changedSince(jobKey: string, answered: Stamp, run: RunIndex): boolean {
  const timeline = run.jobs.get(jobKey) ?? [];
  return timeline.some(({ seq, fact }) => seq <= answered.seq && fact?.desired === 'stop');
}
