import type { Job, JobRecord } from '../../../src/core/cell/job.ts';
import type { RolloutRecord } from '../../../src/core/cell/rollout.ts';
import { isInForce, pauseOn } from '../../../src/core/quota/pauses.ts';
import { updatePolicyOf } from '../../../src/core/slots/update-policy.ts';
import type { Stamp } from '../../history/history.ts';
import type { CellAt } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';
import type { LivenessInput } from './liveness.ts';

/** From a deadline to the record of its miss, and from a failure to the next version. */
const TOLD_MS = 5_000;

/**
 * I70: an update ends. When its deadlines are over it is recorded as done or failed, unless it is paused or its canaries wait for a
 * promotion; one that failed is undone where its job asks for that and a version was good.
 */
export function checkRollouts({ run, cell, clocksAreTrue, times }: LivenessInput, findings: Findings): void {
  const quiet = run.faultlessFrom;
  if (quiet === null || !clocksAreTrue) return;
  for (const [jobKey, record] of cell.jobs) {
    if (!isUpdated(record)) continue;
    const submitted = run.jobs.get(jobKey)?.at(-1);
    if (submitted === undefined) continue;
    const known = cell.rollouts.get(`${jobKey}/state`);
    const now = known?.version === record.version ? known : undefined;
    const text = openIn(record, now);
    if (text === null || isPaused(record, cell)) continue;
    const begin = Math.max(lastStepMs(jobKey, record, submitted, run), quiet.atMs + times.knownMs);
    if (begin + deadlineMs(record.job) + TOLD_MS <= run.end.atMs)
      findings.prove('I70', jobKey, `version ${String(record.version)} ${text}`, [submitted, run.end]);
  }
}

function isUpdated({ job, version, desired }: JobRecord): boolean {
  if (desired !== 'run' || job.type === 'batch') return false;
  return version > 1 || Object.values(job.groups).some(({ update }) => update?.autoRevert === true);
}

/** By an operator or by a verdict of the cell. Of hosts and pools it is not asked whether the job has anything there. */
function isPaused({ job: { namespace, name }, version }: JobRecord, { pauses }: CellAt): boolean {
  if (pauseOn(pauses, 'rollouts', { namespace, job: name, version }) !== null) return true;
  for (const pause of pauses.values())
    if (pause.what === 'rollouts' && isInForce(pause) && (pause.host ?? pause.pool) !== undefined)
      return true;
  return false;
}

/** @returns what must not last; null: it may stay so for ever */
function openIn({ job, rollout: wish, restores }: JobRecord, now: RolloutRecord | undefined): string | null {
  if (now?.state === 'done' || wish?.paused === true) return null;
  const policies = Object.values(job.groups).map(updatePolicyOf);
  if (now?.state === 'failed') {
    const isUndone = policies.some(({ autoRevert }) => autoRevert) && now.good !== undefined;
    return isUndone && restores === undefined ? 'failed and is not undone' : null;
  }
  const waits = wish?.promoted !== true && policies.some((one) => one.canary > 0 && !one.autoPromote);
  return waits ? null : 'is neither done nor failed';
}

/** The longest time for which nothing may come of it. */
function deadlineMs({ groups }: Job): number {
  const policies = Object.values(groups).map(updatePolicyOf);
  return Math.max(...policies.map((one) => Math.max(one.healthyDeadlineMs, one.progressDeadlineMs)));
}

/** When something was submitted, promoted or placed last for this version. */
function lastStepMs(jobKey: string, { version }: JobRecord, submitted: Stamp, run: RunIndex): number {
  let lastMs = submitted.atMs;
  for (const story of run.allocations.values())
    if (story.jobKey === jobKey && story.allocation.jobVersion === version)
      lastMs = Math.max(lastMs, story.created.atMs);
  return lastMs;
}
