import type { Allocation } from '../cell/allocation.ts';
import type { Group } from '../cell/job.ts';
import { SURPLUS_PRECEDENCE } from '../cell/claim.ts';
import { slotsMaxOf } from '../cell/job.ts';
import { settleDuplicates } from './duplicates.ts';
import type { Slot } from './slot-table.ts';
import { nextOf, sameWorkAs, slotTable, vacantInMs } from './slot-table.ts';
import { awaitsFence, surelyOverInMs } from './lost-hosts.ts';
import { misplacedOf } from './misplaced.ts';
import { causeOfMove, moveOf } from './moves.ts';
import type { Gate } from './rollout.ts';
import {
  gateOf,
  holdOf,
  holdOfUnreachable,
  holdOfVacant,
  isUp,
  isWatched,
  surgeIn,
  unprovenMs,
} from './rollout.ts';
import { evaluateSurplus } from './surplus-slots.ts';
import { updatePolicyOf } from './update-policy.ts';
import type { Fill, JobView, LiveAllocation, Stop, EvaluationDraft } from './job-view.ts';
import { CAUSES, canAfford, earlier, isOfBrokenGang } from './job-view.ts';

/**
 * The rules of a group with `count` slots. A service keeps all of them filled; a batch job brings each to completion
 * once, at most `parallelism` at a time.
 */
export function evaluateCounted(view: JobView, group: Group, draft: EvaluationDraft): void {
  const table = slotTable(view, group.name);
  const sameWork = sameWorkAs(view, group);
  const runsForEver = view.record.job.type !== 'batch';
  settleDuplicates(view, group, table, sameWork, draft);
  if (group.gang) breakUp(group, table, draft);
  const displaced = displacedIn(view, group, table, { sameWork, runsForEver }, draft);
  const size = group.count + (runsForEver ? surgeIn(view, group, table, displaced) : 0);
  scaleDown(table, view.elasticTarget === undefined ? size : Math.max(size, slotsMaxOf(group)), draft);
  const ofBefore = renewSurge(view, group, table, { size, sameWork }, draft);
  const holds: Hold[] = [];
  const unreachable: LiveAllocation[] = [];
  const vacant: { index: number; slot: Slot | undefined }[] = [];
  let busy = 0;
  let leaving = false;
  for (let index = 0; index < size; index++) {
    const slot = table.get(index);
    const inMs = slot === undefined ? 0 : vacantInMs(view, slot);
    if (slot !== undefined && inMs !== 0) {
      if (inMs !== null) draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + inMs);
      busy += 1;
      draft.open = true;
      leaving ||= slot.live.every(({ allocation }) => allocation.desired !== 'run');
      const hold = ofBefore.has(index) ? { live: null } : holdIn(view, group, slot, displaced, draft);
      if (hold !== null) holds.push({ index, slot, live: hold.live });
      else if (displaced.size > 0) unreachable.push(...unreachableIn(view, slot, displaced));
    } else {
      vacant.push({ index, slot });
    }
  }
  const waitingSinceMs = group.parallelism === null ? 0 : lastEndMs(view, group);
  const wanted: Fill[] = [];
  for (const { index, slot } of vacant) {
    const next = nextOf(view, group, index, slot, { runsForEver, waitingSinceMs, sameWork });
    if (next.kind === 'failed') {
      draft.failed = true;
      if (runsForEver) holds.push({ index, slot, live: null });
    }
    if (next.kind !== 'fill') continue;
    wanted.push(next.fill);
    holds.push({ index, slot, live: null });
  }
  if (wanted.length > 0) draft.open = true;
  const room = group.parallelism === null ? wanted.length : Math.max(0, group.parallelism - busy);
  const fills = group.gang ? together(wanted, leaving) : dueFirst(wanted, view.nowMs).slice(0, room);
  for (const fill of fills) offer(view, group, fill, draft);
  replaceDisplaced(view, group, displaced, { holds, unreachable, runsForEver, sameWork, table }, draft);
  if (!runsForEver) evaluateSurplus(view, group, table, { sameWork, isFilled: wanted.length === 0 }, draft);
}

/**
 * What the update before left in slots beyond `count` goes: at once when it is not up, else when none of the other slots waits for what the
 * present version begins there, since it may be all that serves.
 * @returns those slots; the present update has nothing there yet
 */
function renewSurge(
  view: JobView,
  group: Group,
  table: ReadonlyMap<number, Slot>,
  { size, sameWork }: { readonly size: number; readonly sameWork: (version: number) => boolean },
  draft: EvaluationDraft,
): ReadonlySet<number> {
  const ofBefore = new Map<number, LiveAllocation>();
  for (let index = group.count; index < size; index++) {
    const old = wantedIn(table.get(index));
    if (old !== undefined && !sameWork(old.allocation.jobVersion)) ofBefore.set(index, old);
  }
  if (ofBefore.size === 0) return NONE_OF_BEFORE;
  const isSettled = Array.from({ length: group.count }, (_, index) => wantedIn(table.get(index))).every(
    (live) => live !== undefined && (!sameWork(live.allocation.jobVersion) || isServing(live)),
  );
  for (const live of ofBefore.values())
    if (isSettled || !isServing(live))
      draft.stops.push({ allocation: live.allocation, mode: 'stop', cause: causeOf(view) });
  return new Set(ofBefore.keys());
}

const NONE_OF_BEFORE: ReadonlySet<number> = new Set();

function wantedIn(slot: Slot | undefined): LiveAllocation | undefined {
  return slot?.live.find(({ allocation }) => allocation.desired === 'run');
}

function isServing({ report }: LiveAllocation): boolean {
  return report !== null && isUp(report);
}

function causeOf({ record }: JobView): string {
  return `${CAUSES.version} ${String(record.version)}`;
}

/**
 * Members of a gang are placed in one commit and wait together: since the latest of them began to wait, and until those
 * that are stopping are gone, or a part would be placed without the rest (I6).
 */
function together(fills: readonly Fill[], leaving: boolean): readonly Fill[] {
  if (leaving) return [];
  const sinceMs = Math.max(...fills.map((fill) => fill.sinceMs));
  return fills.map((fill) => ({ ...fill, sinceMs }));
}

/** When one member of a gang is stopped to place the gang again, all are: the gang begins again as a whole. */
function breakUp(group: Group, table: ReadonlyMap<number, Slot>, draft: EvaluationDraft): void {
  const members = [...table].filter(([index]) => index < group.count).map(([, slot]) => slot.live);
  const broken = members.find(
    (live) =>
      live.every(({ allocation }) => allocation.desired !== 'run') &&
      live.some(({ allocation }) => isOfBrokenGang(allocation)),
  );
  const cause = broken?.find(({ allocation }) => isOfBrokenGang(allocation))?.allocation.cause;
  if (cause === undefined) return;
  for (const live of members)
    for (const { allocation } of live)
      if (allocation.desired === 'run') draft.stops.push({ allocation, mode: 'stop', cause });
}

/** Slots that wait for their delay come after those that can be filled now. */
function dueFirst(fills: readonly Fill[], nowMs: number): readonly Fill[] {
  if (fills.every((fill) => fill.notBeforeMs <= nowMs)) return fills;
  return [...fills].sort((a, b) => Math.max(a.notBeforeMs, nowMs) - Math.max(b.notBeforeMs, nowMs));
}

/** Adds an open slot to the draft: as a fill, or as unplaceable when it has waited too long. */
export function offer(view: JobView, group: Group, fill: Fill, draft: EvaluationDraft): void {
  const lateAtMs = group.waitMaxMs === null ? null : fill.sinceMs + group.waitMaxMs;
  if (lateAtMs !== null && view.nowMs >= lateAtMs) {
    draft.unplaceable.push(fill);
    return;
  }
  draft.fills.push(fill);
  draft.nextAtMs = earlier(draft.nextAtMs, fill.notBeforeMs > view.nowMs ? fill.notBeforeMs : lateAtMs);
}

/** Slots beyond those wanted are removed with their records; their last allocations leave no history (S1.17). */
function scaleDown(table: ReadonlyMap<number, Slot>, size: number, draft: EvaluationDraft): void {
  for (const [index, slot] of table) {
    if (index < size) continue;
    for (const { allocation } of slot.live) {
      if (allocation.desired === 'run')
        draft.stops.push({ allocation, mode: 'remove', cause: CAUSES.scaledDown });
    }
  }
}

/** No job is told that a host's session has begun again. */
const HEARD_AGAIN_MS = 2_000;

/** An allocation that is to be replaced where it is; `atOnce`: whatever the others do. */
export interface Displaced {
  readonly live: LiveAllocation;
  readonly stop: Stop;
  readonly atOnce: boolean;
  readonly byVersion: boolean;
  /** Somebody asked for it. */
  readonly byMove?: true;
  /** It needs a token of the budget of moves. */
  readonly isBudgeted?: true;
}

/** What no longer runs as, or where, its group is to run, by allocation. */
export function displacedIn(
  view: JobView,
  group: Group,
  table: ReadonlyMap<number, Slot>,
  state: { readonly sameWork: (version: number) => boolean; readonly runsForEver: boolean },
  draft: EvaluationDraft,
): ReadonlyMap<string, Displaced> {
  const displaced = new Map<string, Displaced>();
  if (table.size === 0) return displaced;
  const isSystem = view.record.job.type === 'system';
  const misplaced = isSystem ? NONE : misplacedOf(view, group);
  const held: Allocation[] = [];
  for (const [index, slot] of [...table].sort((a, b) => a[0] - b[0])) {
    if (!isSystem && index >= slotsMaxOf(group)) continue;
    for (const live of slot.live) {
      const why = displacedBy(view, group, live, { ...state, misplaced }, draft);
      if (why === null) continue;
      const isHeldBack = why.isBudgeted === true && view.isAffordable?.('moves', live.allocation) === false;
      if (isHeldBack) held.push(live.allocation);
      else displaced.set(live.allocation.id, { ...why, live });
    }
  }
  if (held.length > 0) askForMoves(group, held, displaced, state, draft);
  return displaced;
}

/**
 * For no more than can go in their turn: a token is of use for a while only. All ask, since the first in turn may be in a rack that has
 * no tokens, and another one not.
 */
function askForMoves(
  group: Group,
  held: readonly Allocation[],
  displaced: ReadonlyMap<string, Displaced>,
  { runsForEver }: { readonly runsForEver: boolean },
  draft: EvaluationDraft,
): void {
  const moving = [...displaced.values()].filter(({ isBudgeted }) => isBudgeted === true).length;
  const room = runsForEver ? Math.max(0, updatePolicyOf(group).parallelism - moving) : held.length;
  if (room > 0) for (const allocation of held) draft.asks.push({ kind: 'moves', allocation, most: room });
}

/** A slot for which a roll-out waits; `live`: for what is there, null: for another allocation. */
export interface Hold {
  readonly index: number;
  readonly slot: Slot | undefined;
  readonly live: LiveAllocation | null;
}

/**
 * Does the slot hold a roll-out up? What is to be replaced itself, in turn, counts as up while it runs; anything else must have run for
 * a while without a restart, so that a version that does not stay up stops its own roll-out (S3.24).
 * @returns null: it does not
 */
export function holdIn(
  view: JobView,
  group: Group,
  slot: Slot,
  displaced: ReadonlyMap<string, Displaced>,
  draft: EvaluationDraft,
): { readonly live: LiveAllocation | null } | null {
  const live = slot.live.find(({ allocation }) => allocation.desired === 'run');
  if (live === undefined) return { live: null };
  const goes = displaced.get(live.allocation.id);
  if (goes !== undefined) return isRunning(live) && !goes.atOnce ? null : { live };
  // Nothing to roll out: nobody waits, and no timer is needed.
  if (displaced.size === 0 && !isWatched(view)) return null;
  const leftMs = unprovenMs(view, group, live);
  if (leftMs === 0) return null;
  if (leftMs !== null) draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + leftMs);
  return { live };
}

/** What is there on a host that nobody hears of, and stays: it may serve, and nobody may rely on that. */
function unreachableIn(
  view: JobView,
  { live }: Slot,
  displaced: ReadonlyMap<string, Displaced>,
): readonly LiveAllocation[] {
  return live.filter(
    ({ allocation: { desired, host, id } }) =>
      desired === 'run' && !displaced.has(id) && isUnreachable(view, host),
  );
}

function isUnreachable(view: JobView, host: string): boolean {
  const { state, isSilent } = view.hostCondition(host);
  return state === 'lost' || isSilent === true;
}

/**
 * Stops allocations of an old version, on a lost host, on one where the group may no longer run, or on a draining one. One on
 * a lost host is replaced at once. The others of a service are stopped in turn, what does not serve first: no more at once
 * than the group's parallelism, and each slot that is not up counts for one. For a newer version nothing is stopped while the
 * update is paused, there or as a whole, has failed, or waits for a promotion. What does not run is stopped at once, unless nobody knows that yet.
 */
export function replaceDisplaced(
  view: JobView,
  group: Group,
  displaced: ReadonlyMap<string, Displaced>,
  state: {
    readonly holds: readonly Hold[];
    /** On hosts that nobody hears of, and not to be replaced. */
    readonly unreachable: readonly LiveAllocation[];
    readonly runsForEver: boolean;
    readonly sameWork: (version: number) => boolean;
    readonly table: ReadonlyMap<number, Slot>;
  },
  draft: EvaluationDraft,
): void {
  const { holds, unreachable, runsForEver } = state;
  const byVersion = [...displaced.values()].filter((one) => one.byVersion);
  const outdated = byVersion.length;
  const pauses = byVersion.map(({ live }) => rolloutPauseOn(view, live));
  const paused = pauses.find((pause) => pause !== null) ?? null;
  const [hold] = holds;
  const held = hold === undefined ? null : whyHeld(view, group, hold, state.sameWork);
  const away = unreachable[0] === undefined ? null : holdOfUnreachable(unreachable[0]);
  const gate = runsForEver
    ? gateOf(view, group, { ...state, outdated, held, away, paused, isWhole: !pauses.includes(null) }, draft)
    : OPEN;
  const inTurn: Displaced[] = [];
  for (const one of displaced.values()) {
    if (one.byVersion && (gate.why !== null || rolloutPauseOn(view, one.live) !== null)) continue;
    const isIdle = !isRunning(one.live) && one.live.isUnverified !== true;
    if (one.atOnce || !runsForEver || isIdle) draft.stops.push(one.stop);
    else inTurn.push(one);
  }
  const turns = inTurnOf(view, group, inTurn);
  const room = Math.max(0, updatePolicyOf(group).parallelism - holds.length - unreachable.length);
  for (const { stop } of turns.slice(0, room)) draft.stops.push(stop);
  if (unreachable.length > 0 && turns.length > room)
    draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + HEARD_AGAIN_MS);
  if (outdated === 0 && (held === null || !isWatched(view))) return;
  const waitsFor = gate.why ?? (room === 0 ? (held ?? away) : null) ?? paused;
  const { version } = view.record;
  draft.rollouts.push({ group: group.name, version, outdated, waitsFor, failed: gate.failed });
}

/**
 * What serves waits for what may not. Of what is to leave its host, it waits also for what began a short time ago, the newest first: that
 * is not proven yet (I63).
 */
function inTurnOf(view: JobView, group: Group, displaced: readonly Displaced[]): readonly Displaced[] {
  const provenInMs = ({ live, byVersion }: Displaced): number => {
    const leftMs = isUnreachable(view, live.allocation.host) ? null : unprovenMs(view, group, live);
    if (leftMs === null) return Infinity;
    return byVersion ? 0 : leftMs;
  };
  return displaced
    .map((one) => ({ one, ms: provenInMs(one) }))
    .sort((a, b) => (a.ms === b.ms ? 0 : b.ms - a.ms))
    .map(({ one }) => one);
}

function rolloutPauseOn({ rolloutPause }: JobView, { allocation }: LiveAllocation): string | null {
  return rolloutPause?.on(allocation.host) ?? null;
}

const OPEN: Gate = { why: null, failed: false };

function whyHeld(
  view: JobView,
  group: Group,
  { index, slot, live }: Hold,
  sameWork: (version: number) => boolean,
): string {
  if (live !== null) return holdOf(view, group, live);
  return holdOfVacant(view, group, index, slot, sameWork);
}

function displacedBy(
  view: JobView,
  group: Group,
  live: LiveAllocation,
  state: {
    readonly sameWork: (version: number) => boolean;
    readonly runsForEver: boolean;
    readonly misplaced: ReadonlySet<string>;
  },
  draft: EvaluationDraft,
): Omit<Displaced, 'live'> | null {
  const { allocation } = live;
  if (allocation.desired !== 'run') return null;
  const condition = view.hostCondition(allocation.host);
  if (condition.state === 'lost') {
    // Without the policy it stays, and is shown as lost (S0.1).
    if (!group.reschedule.onHostLost || view.record.job.type === 'system') return null;
    // Until then it may be the only one, and stays if its host returns.
    if (awaitsFence(view, allocation)) {
      const inMs = surelyOverInMs(view, allocation);
      if (inMs !== null) draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + inMs);
      return null;
    }
    // An operator's own word needs no token.
    if (condition.isConfirmed !== true && !canAfford(view, 'replacements', allocation, draft)) return null;
    return { stop: { allocation, mode: 'stop', cause: CAUSES.hostLost }, atOnce: true, byVersion: false };
  }
  const { drainDeadlineMs } = condition;
  const drained: Stop = { allocation, mode: 'stop', cause: CAUSES.draining };
  if (condition.state === 'draining' && drainDeadlineMs !== null) {
    // At its deadline a drain waits for no update.
    if (view.nowMs >= drainDeadlineMs) return { stop: drained, atOnce: true, byVersion: false };
    draft.nextAtMs = earlier(draft.nextAtMs, drainDeadlineMs);
  }
  if (!state.sameWork(allocation.jobVersion)) {
    return { stop: { allocation, mode: 'stop', cause: causeOf(view) }, atOnce: false, byVersion: true };
  }
  // It became part of the minimum: as surplus, anybody could take its place.
  if (allocation.precedence === SURPLUS_PRECEDENCE && allocation.index < group.count)
    return { stop: { allocation, mode: 'stop', cause: causeOf(view) }, atOnce: false, byVersion: true };
  if (state.misplaced.has(allocation.id)) {
    const stop: Stop = { allocation, mode: 'stop', cause: CAUSES.notMatching };
    // Where a group may run its author has just said, or an operator of a host.
    const isBudgeted = allocation.jobVersion === view.record.version ? { isBudgeted: true as const } : {};
    return isHeld(view) ? null : { stop, atOnce: false, byVersion: false, ...isBudgeted };
  }
  if (condition.state !== 'draining') return movedOf(view, group, allocation, draft);
  if (group.reschedule.onDrain === false || isHeld(view)) return null;
  // A batch task may end by itself before the deadline; a service never does.
  return state.runsForEver ? { stop: drained, atOnce: false, byVersion: false, isBudgeted: true } : null;
}

/** What is stopped while placement is paused has no place until that ends (S0.43): it stays as long as it may. */
function isHeld({ isPaused }: JobView): boolean {
  return isPaused?.() === true;
}

function movedOf(
  view: JobView,
  group: Group,
  allocation: Allocation,
  draft: EvaluationDraft,
): Omit<Displaced, 'live'> | null {
  const move = moveOf(view, group, allocation, draft);
  if (move === null) return null;
  const stop: Stop = { allocation, mode: 'stop', cause: causeOfMove(move) };
  return { stop, atOnce: false, byVersion: false, byMove: true, isBudgeted: true };
}

export function isRunning(live: LiveAllocation): boolean {
  return live.report?.state === 'running';
}

/** System jobs leave hosts that no longer match by themselves (`system-slots.ts`). */
const NONE: ReadonlySet<string> = new Set();

function lastEndMs(view: JobView, group: Group): number {
  let last = 0;
  for (const outcome of view.outcomes)
    if (outcome.group === group.name) last = Math.max(last, outcome.endedAtMs);
  return last;
}
