/**
 * What should change for one job: a pure function of what the store and the hosts say, called after every change. It
 * remembers nothing, so another owner that reads the same facts continues where the last one stopped.
 *
 * A slot is (job, group, index). At most one allocation of a slot has `desired: run` (I12), except on lost hosts where their job
 * may keep it: a slot is filled again when the record of its last allocation is gone, or is to stop and its host is lost.
 *
 * - `job-view.ts`: what goes in and comes out
 * - `slot-table.ts`: the slots of a group, when one is vacant, and what follows
 * - `counted-slots.ts`: the rules of service and batch groups; `surplus-slots.ts`: of what an elastic group has above its minimum
 * - `duplicates.ts`: what a lost host held and was replaced, and which one is kept when it is back
 * - `system-slots.ts`: the rules of system jobs, one allocation a host
 * - `reschedule.ts`: failures, attempts and delays; `restarts.ts`: how often what is there was started again, for people
 * - `rollout.ts`: when an allocation counts as up, how far an update may go, and why it waits; `update-policy.ts`: its rules'
 *   defaults
 * - `misplaced.ts`: what no longer runs where its group may run
 * - `movable.ts`: what may be moved when somebody asks; `moves.ts`: what was asked for;
 *   `move-targets.ts`: where it goes
 * - `lost-hosts.ts`: when what a lost host held may be replaced
 * - `given-up.ts`: when an allocation on a lost host is released without the host's word
 * - `outcomes.ts`: the final record of an allocation, and which records may go
 */
import { isWatched } from './rollout.ts';
import { hasBrought } from '../cell/volume.ts';
import type {
  JobView,
  Evaluation,
  EvaluationDraft,
  GivenUp,
  HostCondition,
  LiveAllocation,
  Rollout,
} from './job-view.ts';
import { CAUSES, canAfford, earlier } from './job-view.ts';
import { evaluateCounted } from './counted-slots.ts';
import { evaluateSystem } from './system-slots.ts';
import { isGivenUp } from './given-up.ts';
import { awaitsFence, isAnsweredFor } from './lost-hosts.ts';
import { isTerminal } from '../host/states.ts';

export function evaluate(view: JobView): Evaluation {
  const releases = view.live.filter(
    ({ report }) => report !== null && report.released && isTerminal(report.state),
  );
  const draft: EvaluationDraft = {
    fills: [],
    grows: [],
    stops: [],
    unplaceable: [],
    asks: [],
    rollouts: [],
    nextAtMs: null,
    open: false,
    failed: false,
  };
  const { job, desired } = view.record;
  if (desired === 'stop') {
    stopAll(view, draft);
  } else {
    stopUnknownGroups(view, draft);
    for (const group of Object.values(job.groups)) {
      if (job.type === 'system') evaluateSystem(view, group, draft);
      else evaluateCounted(view, group, draft);
    }
  }
  const givenUp = giveUp(view, releases, draft);
  const { fills, grows, stops, unplaceable, asks, rollouts, nextAtMs } = draft;
  return {
    fills,
    grows,
    stops,
    releases,
    givenUp,
    unplaceable,
    asks,
    rollouts,
    rollout: rolloutOf(view, rollouts),
    nextAtMs,
    finished: finishedAs(view, draft),
  };
}

/** Of the job as a whole: an update that failed in one group has failed. */
function rolloutOf(view: JobView, rollouts: readonly Rollout[]): Evaluation['rollout'] {
  if (!isWatched(view)) return null;
  const failed = rollouts.find((one) => one.failed);
  if (failed !== undefined) return { state: 'failed', reason: `${failed.group}: ${failed.waitsFor ?? ''}` };
  const [next] = rollouts;
  if (next === undefined) return { state: 'done', reason: '' };
  return { state: 'updating', reason: '' };
}

function giveUp(
  view: JobView,
  releases: readonly LiveAllocation[],
  draft: EvaluationDraft,
): Evaluation['givenUp'] {
  const givenUp: GivenUp[] = [];
  for (const live of view.live) {
    const host = view.hostCondition(live.allocation.host);
    if (host.state !== 'lost' || releases.includes(live) || awaitsFence(view, live.allocation)) continue;
    if (hasBrought(live.allocation)) {
      // Another host may have its data then: time is no proof for that.
      if (isOver(live, host) && isAnsweredFor(view, live.allocation))
        givenUp.push({ ...live, isFenced: true });
      continue;
    }
    if (isGivenUp(live, host, view.nowMs)) {
      // An operator's own word needs no token.
      if (host.isConfirmed === true || canAfford(view, 'orphans', live.allocation, draft)) givenUp.push(live);
    } else if (live.allocation.desired !== 'run')
      draft.nextAtMs = earlier(draft.nextAtMs, host.givenUpAtMs ?? null);
  }
  return givenUp;
}

/** What an open intent holds goes with the intent. */
function isOver({ allocation: { desired, intent, yields } }: LiveAllocation, host: HostCondition): boolean {
  const ends = desired !== 'run' || host.isRemoved === true;
  return ends && intent === undefined && yields === undefined;
}

function finishedAs(view: JobView, draft: EvaluationDraft): Evaluation['finished'] {
  if (view.live.length > 0 || draft.open || draft.unplaceable.length > 0) return null;
  if (view.record.desired === 'stop') return 'stopped';
  return draft.failed ? 'failed' : 'complete';
}

function stopAll(view: JobView, draft: EvaluationDraft): void {
  for (const { allocation } of view.live) {
    if (allocation.desired === 'run') draft.stops.push({ allocation, mode: 'stop', cause: CAUSES.user });
  }
}

function stopUnknownGroups(view: JobView, draft: EvaluationDraft): void {
  for (const { allocation } of view.live) {
    if (allocation.desired !== 'run' || view.record.job.groups[allocation.group] !== undefined) continue;
    const cause = `${CAUSES.version} ${String(view.record.version)}`;
    draft.stops.push({ allocation, mode: 'remove', cause });
  }
}
