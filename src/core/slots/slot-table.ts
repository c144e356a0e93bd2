import type { Outcome } from '../cell/allocation.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import type { LostHost } from '../host/host.ts';
import type { Group, Job } from '../cell/job.ts';
import { attemptsUsedUp, failuresInARow, isFailure, rescheduleDelayMs } from './reschedule.ts';
import type { Fill, JobView, LiveAllocation } from './job-view.ts';
import { CAUSES } from './job-view.ts';
import { surelyOverInMs } from './lost-hosts.ts';
import { awaitedTargets, moveTargetOf } from './move-targets.ts';
import { CLOCK_TOLERANCE_MS } from '../quota/ticket.ts';

/** One slot: its live allocations and its history. */
export interface Slot {
  readonly live: LiveAllocation[];
  /** On hosts that are lost, or have just come back: they do not block the slot (`duplicates.ts`). */
  readonly aside: LiveAllocation[];
  /** Oldest first. */
  readonly history: Outcome[];
}

/** The slots of one group by index; an index that was never filled is absent. */
export function slotTable(view: JobView, group: string): Map<number, Slot> {
  const table = new Map<number, Slot>();
  const at = (index: number): Slot => {
    let slot = table.get(index);
    if (slot === undefined) table.set(index, (slot = { live: [], aside: [], history: [] }));
    return slot;
  };
  for (const live of view.live)
    if (live.allocation.group === group) at(live.allocation.index).live.push(live);
  for (const outcome of view.outcomes) if (outcome.group === group) at(outcome.index).history.push(outcome);
  for (const slot of table.values())
    slot.history.sort((a, b) => a.attempt - b.attempt || a.endedAtMs - b.endedAtMs);
  return table;
}

/**
 * When its live allocations let the slot be filled again. An allocation on a lost host blocks the slot only while it may
 * still run, and only if its job bounds that time (`stopAfterDisconnectMs`, I14) or wants a fence to say so (I72).
 * @returns in how many milliseconds; 0: now; null: not before a change
 */
export function vacantInMs(view: JobView, slot: Slot): number | null {
  let inMs = 0;
  for (const { allocation } of slot.live) {
    const { state } = view.hostCondition(allocation.host);
    if (allocation.desired === 'run' || state !== 'lost') return null;
    const overInMs = surelyOverInMs(view, allocation);
    if (overInMs === null) return null;
    inMs = Math.max(inMs, overInMs);
  }
  return inMs;
}

/**
 * Does an allocation of that version run the same as one of the current version? A change of `count`, of labels or of where
 * the group may run restarts nothing by itself (`misplaced.ts`).
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
      // Later than all versions in the store: submitted before the store was restored. It runs on until the next submission.
      const isAhead = then === undefined && version > current;
      const before = then?.groups[group.name];
      // Only when there is another version: most jobs have one, and are evaluated often.
      own ??= workOf(group, job);
      same = isAhead || (before !== undefined && then !== undefined && workOf(before, then) === own);
      known.set(version, same);
    }
    return same;
  };
}

/** Do allocations of the group run the same by both specs? Then a change from one to the other restarts nothing. */
export function isSameWork(before: Job, now: Job, group: string): boolean {
  const [a, b] = [before.groups[group], now.groups[group]];
  return a !== undefined && b !== undefined && workOf(a, before) === workOf(b, now);
}

function workOf(group: Group, { precedence, restartedAtMs = 0 }: Job): string {
  const { tasks, ports, restart, deadlineMs, stopAfterDisconnectMs, shutdownDelayMs, volumes } = group;
  const deadlines = {
    deadlineMs,
    ...(stopAfterDisconnectMs === undefined ? {} : { stopAfterDisconnectMs }),
    ...(shutdownDelayMs === undefined ? {} : { shutdownDelayMs }),
  };
  const data = volumes === undefined ? {} : { volumes };
  const neighbours = {
    ...(group.class === undefined ? {} : { class: group.class }),
    ...(group.avoid === undefined ? {} : { avoid: group.avoid }),
  };
  return canonicalJson({
    tasks,
    ports,
    restart,
    ...deadlines,
    ...data,
    ...neighbours,
    precedence,
    restartedAtMs,
  });
}

/** What follows for a vacant slot: its end, or another allocation. */
export type SlotNext =
  | { readonly kind: 'complete' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'fill'; readonly fill: Fill };

/**
 * @param options `runsForEver`: of a service, another allocation follows even a successful end. `waitingSinceMs`: the slot
 *   could not be filled before
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
  // An end in the future was recorded by a clock that has been set back: it says nothing about the delay.
  const isDatable = last !== undefined && last.endedAtMs <= view.nowMs + CLOCK_TOLERANCE_MS;
  const notBeforeMs = isDatable ? last.endedAtMs + delayMs : 0;
  const replaced = [...slot.aside, ...slot.live].at(-1)?.allocation;
  const host = awaitedHost(view, group, last);
  const replaces = replaced?.id ?? last?.allocation;
  const standsFor = lostHostsOf(view, slot);
  const target = moveTargetOf(view, last);
  const left = target === null || last === undefined ? NO_HOSTS : [last.host];
  return {
    kind: 'fill',
    fill: {
      group: group.name,
      index,
      attempt: Math.max(0, last?.attempt ?? 0, replaced?.attempt ?? 0) + 1,
      ...(replaces === undefined ? {} : { replaces }),
      avoidHosts: host === null ? [...avoided(slot, runsForEver), ...left] : NO_HOSTS,
      ...(target?.to === undefined ? {} : { prefersHost: target.to }),
      notBeforeMs,
      sinceMs: Math.max(view.record.submittedAtMs, waitingSinceMs, notBeforeMs, replacedAtMs(view, slot)),
      ...(host === null ? {} : { host }),
      ...(standsFor.length === 0 ? {} : { standsFor }),
    },
  };
}

/** The lost hosts of what is still recorded of a vacant slot. */
function lostHostsOf(view: JobView, { aside, live }: Slot): readonly LostHost[] {
  const revisions = new Map<string, number>();
  for (const { allocation } of [...aside, ...live]) {
    const { state, lostRevision } = view.hostCondition(allocation.host);
    if (state === 'lost' && lostRevision !== undefined) revisions.set(allocation.host, lostRevision);
  }
  return Array.from(revisions, ([host, revision]) => ({ host, revision }));
}

/** Since when the slot wants another allocation than those on lost hosts, as far as that is known. */
function replacedAtMs(view: JobView, { aside, live }: Slot): number {
  const each = [...aside, ...live].map(
    ({ allocation, stoppedAtMs }) => stoppedAtMs ?? view.hostCondition(allocation.host).lostSinceMs ?? 0,
  );
  return Math.max(0, ...each);
}

/**
 * Where a drain does not move the group: the host that it was stopped on, for as long as that may come back. One that is gone
 * for good, or lost and not waited for, is no longer waited for.
 */
function awaitedHost(view: JobView, { reschedule }: Group, last: Outcome | undefined): string | null {
  if (reschedule.onDrain !== false || last?.cause !== CAUSES.draining) return null;
  if (view.hostOf(last.host) === undefined) return null;
  const isLost = view.hostCondition(last.host).state === 'lost';
  return isLost && reschedule.onHostLost ? null : last.host;
}

/** Of a slot that was never filled. */
function firstFill(view: JobView, group: Group, index: number, waitingSinceMs: number): Fill {
  const sinceMs = Math.max(view.record.submittedAtMs, waitingSinceMs);
  const avoidHosts = index < group.count ? NO_HOSTS : awaitedTargets(view, group);
  return { group: group.name, index, attempt: 1, avoidHosts, notBeforeMs: 0, sinceMs };
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
  // At most once: how far a lost allocation came is unknown, so a job without a second attempt ends here.
  const secondAllowed = group.reschedule.attempts !== 0 || group.reschedule.onHostLost;
  return last.state === 'lost' && last.cause === undefined && !secondAllowed;
}

/** Hosts that the next attempt should avoid: where the slot last failed (S3.2). */
const AVOIDED_MAX = 3;

function avoided(slot: Slot, runsForEver: boolean): readonly string[] {
  const failed = slot.history
    .filter((outcome) => isFailure(outcome, runsForEver))
    .map((outcome) => outcome.host);
  const lost = [...slot.aside, ...slot.live].map(({ allocation }) => allocation.host);
  return [...new Set([...failed.slice(-AVOIDED_MAX), ...lost])].filter((host) => host !== '');
}

const NO_HOSTS: readonly string[] = Object.freeze([]);
