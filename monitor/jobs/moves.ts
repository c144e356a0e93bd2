import type { Allocation } from '../../src/core/cell/allocation.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { JobRecord, Move } from '../../src/core/cell/job.ts';
import { meets } from '../../src/core/host/attributes.ts';
import { pausedBy, pauseOn } from '../../src/core/quota/pauses.ts';
import { whyFixed } from '../../src/core/slots/movable.ts';
import type { ProblemError } from '../../src/wire/api/problem.ts';
import type { MovesRequest } from '../../src/wire/plan/plan.ts';
import { noSuchHost, noSuchJob, refuse } from '../refusals.ts';
import type { CellCopy } from '../view/view.ts';

/** What has not begun within this time stays where it is: the cell is another one by then. */
const MOVE_MS = 3_600_000;

/**
 * What a request to move allocations of one job asks for, checked against what this monitor knows; the job's scheduler checks
 * it again each time.
 *
 * @param isUpdating allocations are still to be replaced by a newer version
 * @throws ProblemError that says why something is not moved; then nothing is
 */
export function movesOf(
  copy: CellCopy,
  jobKey: string,
  { moves, reason }: MovesRequest,
  asked: { readonly by: string; readonly nowMs: number; readonly isUpdating: boolean },
): readonly Move[] {
  const record = copy.jobs.get(jobKey)?.value;
  if (record === undefined) throw noSuchJob(jobKey);
  checkJob(copy, record, asked.isUpdating);
  return moves.map((wanted, n) => {
    const found = copy.allocationsByJob.of(jobKey).get(wanted.allocation)?.value;
    const path = `moves.${String(n)}`;
    if (found?.desired !== 'run')
      throw refuse(409, 'not-placed', `nothing of ${jobKey} that is to run is ${wanted.allocation}`, {
        path,
        hint: `moorage ps ${record.job.name}`,
      });
    checkAllocation(copy, record, found, wanted.to, path);
    return { ...wanted, reason, by: asked.by, untilMs: Math.round(asked.nowMs) + MOVE_MS };
  });
}

function checkJob(copy: CellCopy, { job, desired }: JobRecord, isUpdating: boolean): void {
  if (desired !== 'run') throw fixed(`${job.name} is told to stop: what is stopped is not moved`);
  const pauses = { size: copy.pauses.size, get: (name: string) => copy.pauses.get(name)?.value };
  const pause = pauseOn(pauses, 'placement', { namespace: job.namespace, job: job.name });
  if (pause !== null) throw fixed(`placement is ${pausedBy(pause)}: what is paused is not moved`);
  if (isUpdating) throw fixed(`an update of ${job.name} is under way`, `moorage rollout status ${job.name}`);
}

function checkAllocation(
  copy: CellCopy,
  { job }: JobRecord,
  { group: name, index, host }: Allocation,
  to: string | undefined,
  path: string,
): void {
  const group = job.groups[name];
  const slot = slotName(job.name, name, index);
  const why = group === undefined ? 'its group is gone' : whyFixed(job, group);
  if (why !== null) throw fixed(`${slot} is not moved: ${why}`);
  if (group !== undefined && index >= group.count)
    throw fixed(`${slot} is not moved: it stands beyond the count of its group, and goes by itself`);
  if (to === undefined || group === undefined) return;
  const target = copy.hostOf(to);
  if (target === undefined) throw noSuchHost(to);
  const wrong = (detail: string): ProblemError =>
    refuse(409, 'wrong-host', `${slot} is not moved to ${to}: ${detail}`, {
      path: `${path}.to`,
      hint: 'moorage hosts',
    });
  if (to === host) throw wrong('it is there already');
  const state = copy.eligibility.get(to)?.value.state ?? 'ready';
  if (state !== 'ready') throw wrong(`it is ${state}`);
  const failed = group.constraints.find((expression) => !meets(target, expression));
  if (failed !== undefined) throw wrong(`it does not meet ${failed.text}`);
}

function fixed(detail: string, hint?: string): ProblemError {
  return refuse(409, 'not-movable', detail, hint === undefined ? {} : { hint });
}

/** What stands in the record beside what is asked for now; what is over is forgotten. */
export function movesWith(
  known: readonly Move[] | undefined,
  more: readonly Move[],
  nowMs: number,
): readonly Move[] {
  const again = new Set(more.map(({ allocation }) => allocation));
  const kept = (known ?? []).filter(({ allocation, untilMs }) => untilMs > nowMs && !again.has(allocation));
  return [...kept, ...more];
}

/** Moves of the job that have not begun, for people. */
export function waitingMoves(copy: CellCopy, jobKey: string, nowMs: number): readonly string[] {
  const placed = copy.allocationsByJob.of(jobKey);
  return (copy.jobs.get(jobKey)?.value.moves ?? []).flatMap(({ allocation, to, by, reason, untilMs }) => {
    const found = placed.get(allocation)?.value;
    if (found?.desired !== 'run' || untilMs <= nowMs) return [];
    const where = to === undefined ? `off ${found.host}` : `from ${found.host} to ${to}`;
    const why = reason === '' ? '' : ` (${reason})`;
    return [
      `${slotName(found.job, found.group, found.index)} moves ${where} in its turn, as ${by} asked${why}`,
    ];
  });
}
