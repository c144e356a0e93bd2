import type { Allocation, Outcome } from '../cell/allocation.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import type { Group } from '../cell/job.ts';
import { attemptsUsedUp, failuresInARow, isFailure, rescheduleDelayMs } from './reschedule.ts';
import type { Fill, JobView, LiveAllocation } from './job-view.ts';
import { CAUSES } from './job-view.ts';
import { CLOCK_TOLERANCE_MS } from '../quota/ticket.ts';

/** One slot: what lives in it, and what did. */
export interface Slot {
  readonly live: LiveAllocation[];
  /** Oldest first. */
  readonly history: Outcome[];
}

/** The slots of one group by index; an index that never held anything is absent. */
export function slotTable(view: JobView, group: string): Map<number, Slot> {
  const table = new Map<number, Slot>();
  const at = (index: number): Slot => {
    let slot = table.get(index);
    if (slot === undefined) table.set(index, (slot = { live: [], history: [] }));
    return slot;
  };
  for (const live of view.live)
    if (live.allocation.group === group) at(live.allocation.index).live.push(live);
  for (const outcome of view.outcomes) if (outcome.group === group) at(outcome.index).history.push(outcome);
  for (const slot of table.values())
    slot.history.sort((a, b) => a.attempt - b.attempt || a.endedAtMs - b.endedAtMs);
  return table;
}

/** From the kill of a task to its last process: a kill is repeated every half second. */
const KILL_MS = 2_000;

/**
 * When may the slot take a new allocation as far as its present ones go? Those on lost hosts are in its way only while
 * their job asked that nothing runs beside them (`disconnect.stopAfter`) and they may still run (I14).
 * @returns in how many milliseconds; 0: now; null: when something happens
 */
export function vacantInMs(view: JobView, slot: Slot): number | null {
  let inMs = 0;
  for (const { allocation } of slot.live) {
    const { state, cutOffMs = 0 } = view.hostCondition(allocation.host);
    if (allocation.desired === 'run' || state !== 'lost') return null;
    inMs = Math.max(inMs, mayRunForMs(view, allocation) - cutOffMs);
  }
  return inMs;
}

/** How long after its host last heard of the cell it may still run, where that is bounded; else it is not waited for. */
function mayRunForMs({ record, versions }: JobView, { jobVersion, group: name }: Allocation): number {
  const job = jobVersion === record.version ? record.job : versions.get(jobVersion);
  const group = job?.groups[name];
  if (group?.stopAfterDisconnectMs === undefined) return 0;
  const graces = Object.values(group.tasks).map(({ stop }) => stop.graceMs);
  return group.stopAfterDisconnectMs + Math.max(0, ...graces) + KILL_MS;
}

/**
 * Would an allocation of that version run the same thing as one of the current version? Then a new version leaves it
 * alone: changing `count` restarts nobody.
 */
export function sameWorkAs(view: JobView, group: Group): (version: number) => boolean {
  const { job, version: current } = view.record;
  let known: Map<number, boolean> | null = null;
  let own: string | null = null;
  return (version) => {
    if (version === current) return true;
    known ??= new Map();
    let same = known.get(version);
    if (same === undefined) {
      const then = view.versions.get(version);
      // Later than all that the store knows: made before the store was restored, and left alone until somebody says more.
      const isAhead = then === undefined && version > current;
      const before = then?.groups[group.name];
      // Written out only when there is another version: most jobs have one, and are looked at often.
      own ??= workOf(group, job.precedence);
      same = isAhead || (before !== undefined && workOf(before, then?.precedence ?? 0) === own);
      known.set(version, same);
    }
    return same;
  };
}

function workOf(group: Group, precedence: number): string {
  const { tasks, ports, constraints, distinct, restart, deadlineMs, stopAfterDisconnectMs } = group;
  const deadlines = { deadlineMs, ...(stopAfterDisconnectMs === undefined ? {} : { stopAfterDisconnectMs }) };
  return canonicalJson({ tasks, ports, constraints, distinct, restart, ...deadlines, precedence });
}

/** How a vacant slot goes on: it has come to its end, or wants an allocation. */
export type SlotNext =
  | { readonly kind: 'complete' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'fill'; readonly fill: Fill };

/**
 * @param runsForEver a service: even a successful end is followed by the next allocation
 * @param waitingSinceMs the slot had no turn before this time
 */
export function nextOf(
  view: JobView,
  group: Group,
  index: number,
  slot: Slot | undefined,
  options: {
    readonly runsForEver: boolean;
    readonly waitingSinceMs: number;
    readonly sameWork: (version: number) => boolean;
  },
): SlotNext {
  const { runsForEver, waitingSinceMs } = options;
  if (slot === undefined) return { kind: 'fill', fill: firstFill(view, group, index, waitingSinceMs) };
  const { history } = slot;
  const counted = history.filter((outcome) => options.sameWork(outcome.jobVersion));
  if (!runsForEver && counted.some((outcome) => outcome.state === 'complete')) return { kind: 'complete' };
  const failures = failuresInARow(counted, group.reschedule, runsForEver);
  if (hasFailedForGood(view, group, counted, failures)) return { kind: 'failed' };
  const last = history.at(-1);
  const lastFailed = counted.at(-1);
  const delayMs =
    lastFailed !== undefined && isFailure(lastFailed, runsForEver)
      ? rescheduleDelayMs(group.reschedule, failures)
      : 0;
  // An end in the future was recorded by a clock that has been set back since: it says nothing about how long to wait.
  const isDatable = last !== undefined && last.endedAtMs <= view.nowMs + CLOCK_TOLERANCE_MS;
  const notBeforeMs = isDatable ? last.endedAtMs + delayMs : 0;
  const replaced = slot.live.at(-1)?.allocation;
  const replaces = replaced?.id ?? last?.allocation;
  return {
    kind: 'fill',
    fill: {
      group: group.name,
      index,
      attempt: Math.max(0, last?.attempt ?? 0, replaced?.attempt ?? 0) + 1,
      ...(replaces === undefined ? {} : { replaces }),
      avoidHosts: avoided(slot, runsForEver),
      notBeforeMs,
      sinceMs: Math.max(view.record.submittedAtMs, waitingSinceMs, notBeforeMs),
    },
  };
}

/** Of a slot that never held anything. */
function firstFill(view: JobView, group: Group, index: number, waitingSinceMs: number): Fill {
  const sinceMs = Math.max(view.record.submittedAtMs, waitingSinceMs);
  return { group: group.name, index, attempt: 1, avoidHosts: NOBODY, notBeforeMs: 0, sinceMs };
}

function hasFailedForGood(
  view: JobView,
  group: Group,
  counted: readonly Outcome[],
  failures: number,
): boolean {
  if (attemptsUsedUp(group.reschedule, failures)) return true;
  const last = counted.at(-1);
  if (last === undefined) return false;
  if (last.cause === CAUSES.unplaceable) return last.jobVersion === view.record.version;
  // At most once: nobody knows how far a lost allocation came, so a job that allows no second attempt ends here.
  const secondAllowed = group.reschedule.attempts !== 0 || group.reschedule.onHostLost;
  return last.state === 'lost' && last.cause === undefined && !secondAllowed;
}

/** Hosts that the next attempt should keep away from: where the slot last failed (S3.2). */
const AVOIDED_MAX = 3;

function avoided(slot: Slot, runsForEver: boolean): readonly string[] {
  const failed = slot.history
    .filter((outcome) => isFailure(outcome, runsForEver))
    .map((outcome) => outcome.host);
  const lost = slot.live.map(({ allocation }) => allocation.host);
  return [...new Set([...failed.slice(-AVOIDED_MAX), ...lost])].filter((host) => host !== '');
}

const NOBODY: readonly string[] = Object.freeze([]);
