/**
 * What must have come about when the faults are over.
 *
 * - This file: slots are filled, tasks are started, stopped allocations are gone (I10, I24, I55).
 * - `feasible.ts`: a host that has capacity for one more task of a group; `outstanding-grants.ts`: the part of a quota that the store does not show
 * - `drained.ts`: a drained host is empty after its deadline (I62)
 */
import type { Allocation, Outcome } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { Group, JobRecord, Task } from '../../../src/core/cell/job.ts';
import type { Stamp, Stamped } from '../../history/history.ts';
import { lingerMsOf } from '../../machine/task-env.ts';
import type { CellAt } from '../replay/replay.ts';
import { feasibleHost } from './feasible.ts';
import { outstandingGrantsIn } from './outstanding-grants.ts';
import type { AllocationStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

export interface LivenessTimes {
  /** So long after the last fault the cell may not know who is gone: nothing is due before, and what follows counts from then on. */
  readonly knownMs: number;
  /** From when a slot could be filled to its allocation's start (I10), and from a placement to its start (I55). */
  readonly placeMs: number;
  /** From the order to stop to the end of the record, besides the task's own grace, and how long its end leaves ports bound. */
  readonly stopMs: number;
}

/** What a run must have come to after its quiet period. */
export interface LivenessInput {
  readonly run: RunIndex;
  readonly cell: CellAt;
  /** Hosts whose session is there at the end. */
  readonly alive: ReadonlySet<string>;
  /** Those of them that can start nothing for now: `hostsAheadOfTime`. */
  readonly ahead: ReadonlySet<string>;
  /** Nobody's clock was turned: how long something has waited is the same to all. */
  readonly clocksAreTrue: boolean;
  readonly times: LivenessTimes;
}

/**
 * I10, I24 and I55 after a quiet period: every slot that could be filled is, or has come to its end with a reason; what
 * was reserved runs; what should not run is gone, from the store and from the hosts.
 */
export function checkLiveness(input: LivenessInput, findings: Findings): void {
  const { run, cell } = input;
  const quiet = run.faultlessFrom;
  if (quiet === null) return;
  const able = new Set([...input.alive].filter((host) => !input.ahead.has(host)));
  for (const [jobKey, record] of cell.jobs)
    if (record.desired === 'run' && record.job.type !== 'system')
      for (const group of Object.values(record.job.groups))
        checkGroup(jobKey, record, group, quiet, { ...input, able }, findings);
  for (const story of run.allocations.values())
    if (story.deleted === null && story.lost === null) checkStory(story, quiet, input, findings);
  checkLeftProcesses(quiet, input, findings);
}

function checkGroup(
  jobKey: string,
  record: JobRecord,
  group: Group,
  quiet: Stamp,
  { run, cell, times, able, clocksAreTrue }: LivenessInput & { readonly able: ReadonlySet<string> },
  findings: Findings,
): void {
  const slots = new Map<number, Allocation[]>();
  for (const story of run.allocations.values()) {
    const { allocation } = story;
    if (
      story.jobKey !== jobKey ||
      story.deleted !== null ||
      story.lost !== null ||
      allocation.group !== group.name
    )
      continue;
    slots.set(allocation.index, [...(slots.get(allocation.index) ?? []), allocation]);
  }
  if (group.parallelism !== null && slots.size >= group.parallelism) return;
  for (let index = 0; index < group.count; index++) {
    if ((slots.get(index)?.length ?? 0) > 0) continue;
    const history = historyOf(jobKey, group.name, index, run);
    if (hasEnded(record, group, history)) continue;
    const since = openSince(jobKey, group, history, quiet, run);
    const slot = `${jobKey}/${group.name}[${String(index)}]`;
    const dueMs = Math.max(since.atMs, quiet.atMs + times.knownMs) + times.placeMs;
    // Members of a gang wait as one, and for those that leave.
    if (group.waitMaxMs !== null && clocksAreTrue && (!group.gang || slots.size === 0)) {
      const waits = waitsSince(jobKey, group, group.gang ? null : index, run) ?? since;
      const lateMs = Math.max(waits.atMs + group.waitMaxMs, quiet.atMs + times.knownMs) + times.placeMs;
      if (lateMs < run.end.atMs) {
        findings.prove('I24', slot, 'waits longer than it may, and nobody says so', [waits, run.end]);
        continue;
      }
    }
    if (dueMs > run.end.atMs) continue;
    const promised = outstandingGrantsIn(record.job.namespace, cell, run, run.end.atMs - times.placeMs);
    const runsOn = forgottenOn(jobKey, group.name, index, run);
    // What the store lost comes back with its claim, and waits where its room was given away meanwhile.
    if (runsOn !== null && feasibleHost(cell, record, group, new Set([runsOn]), promised) === null) continue;
    const room = feasibleHost(cell, record, group, able, promised);
    if (room !== null)
      findings.prove('I10', slot, `is empty since ${wordsOf(since)}, and ${room} has room for it`, [
        since,
        run.end,
      ]);
  }
}

/** What became of the slot's attempts, in their order: the end of one on a lost host may be known after that of its successor. */
function historyOf(jobKey: string, group: string, index: number, run: RunIndex): Stamped<Outcome>[] {
  return [...run.outcomes.values()]
    .filter(
      ({ fact }) =>
        jobKeyOf(fact.namespace, fact.job) === jobKey && fact.group === group && fact.index === index,
    )
    .sort((a, b) => a.fact.attempt - b.fact.attempt);
}

/**
 * A slot that has used up what it may, or of a batch job one that is complete: generous where the rules are. A service fails by
 * ending, too, and is counted anew after a run that lasted longer than its longest delay.
 */
function hasEnded(record: JobRecord, group: Group, history: readonly Stamped<Outcome>[]): boolean {
  const isService = record.job.type !== 'batch';
  if (!isService && history.some(({ fact }) => fact.state === 'complete')) return true;
  const last = history.at(-1)?.fact;
  if (last?.cause === 'unplaceable') return last.jobVersion === record.version;
  const { attempts, onHostLost, delayMaxMs } = group.reschedule;
  if (last?.state === 'lost' && last.cause === undefined && attempts === 0 && !onHostLost) return true;
  const lasting = history.findLastIndex(({ fact }) => isService && ranLonger(fact, delayMaxMs));
  const failures = history
    .slice(Math.max(0, lasting))
    .filter(({ fact }) => fact.cause === undefined && fact.state !== 'lost').length;
  return attempts !== null && failures > attempts;
}

function ranLonger({ startedAtMs, endedAtMs }: Outcome, durationMs: number): boolean {
  return startedAtMs !== undefined && endedAtMs - startedAtMs > durationMs;
}

/**
 * What the longest wait counts from: the job's last submission, or the last end in the slot.
 * @param index null: of all slots
 */
function waitsSince(jobKey: string, group: Group, index: number | null, run: RunIndex): Stamp | undefined {
  const indexes = index === null ? Array.from({ length: group.count }, (_, n) => n) : [index];
  const ends = indexes.flatMap((n) => historyOf(jobKey, group.name, n, run).slice(-1));
  const stamps: (Stamp | undefined)[] = [
    run.jobs.get(jobKey)?.at(-1),
    ...ends.map((last) => ({ seq: last.seq, atMs: last.atMs + delayMsAfter(last.fact, group) })),
  ];
  return stamps.reduce((last, one) => (one !== undefined && (last?.atMs ?? 0) < one.atMs ? one : last));
}

/** How long a slot rests after its end, at the most. */
function delayMsAfter({ cause }: Outcome, { reschedule }: Group): number {
  return cause === undefined ? reschedule.delayMaxMs : 0;
}

/** From when on the slot could have been filled: submitted, its last end recorded and its delay over, faults gone. */
function openSince(
  jobKey: string,
  group: Group,
  history: readonly Stamped<Outcome>[],
  quiet: Stamp,
  run: RunIndex,
): Stamp {
  let since = quiet;
  const later = (at: Stamp, delayMs: number): void => {
    if (at.atMs + delayMs > since.atMs) since = { seq: at.seq, atMs: at.atMs + delayMs };
  };
  const submitted = run.jobs.get(jobKey)?.at(-1);
  if (submitted !== undefined) later(submitted, 0);
  const last = history.at(-1);
  if (last !== undefined) later(last, delayMsAfter(last.fact, group));
  // Room may have come back only with the last release in the cell.
  for (const story of run.allocations.values()) if (story.deleted !== null) later(story.deleted, 0);
  return since;
}

function checkStory(story: AllocationStory, quiet: Stamp, input: LivenessInput, findings: Findings): void {
  const { run, cell, times } = input;
  const { allocation, unwanted, created } = story;
  // Of a host that is away nobody can say more, and its own time decides.
  if (!input.alive.has(allocation.host)) return;
  const since = (at: Stamp): number => run.end.atMs - Math.max(at.atMs, quiet.atMs + times.knownMs);
  if (unwanted !== null) {
    if (since(unwanted) >= times.stopMs + graceOf(allocation, run) + lingerOf(allocation, run))
      findings.prove('I55', allocation.id, `should be gone since ${wordsOf(unwanted)}, and holds its room`, [
        unwanted,
        run.end,
      ]);
    return;
  }
  const record = cell.jobs.get(story.jobKey);
  const jobEnd = run.jobs.get(story.jobKey)?.at(-1) ?? created;
  if (record?.desired !== 'run' && since(jobEnd) >= times.stopMs)
    findings.prove('I55', allocation.id, 'its job is stopped or gone, and it still should run', [
      jobEnd,
      run.end,
    ]);
  const processes = run.processesOf.get(allocation.id) ?? [];
  if (processes.length === 0 && !isKnownToHost(allocation, run) && since(created) >= times.placeMs)
    findings.prove('I55', allocation.id, `is reserved since ${wordsOf(created)}, and was never started`, [
      created,
      run.end,
    ]);
  checkEnded(story, since, input, findings);
}

/** It has ended on its host for good, and its room is still held. */
function checkEnded(
  { allocation, created }: AllocationStory,
  since: (at: Stamp) => number,
  { run, times }: LivenessInput,
  findings: Findings,
): void {
  const processes = run.processesOf.get(allocation.id) ?? [];
  const last = processes.at(-1)?.ended;
  if (last == null || processes.some(({ ended }) => ended === null)) return;
  const restart = run.jobOf(allocation)?.groups[allocation.group]?.restart;
  if (since(last) >= times.stopMs + (restart?.delayMs ?? 0) + lingerOf(allocation, run))
    findings.prove('I55', allocation.id, `ended at ${wordsOf(last)}, and holds its room`, [
      created,
      last,
      run.end,
    ]);
}

/** Accepted, and waiting for others to give way, or for a command that cannot be run to be told of. */
function isKnownToHost(allocation: Allocation, run: RunIndex): boolean {
  const orders = run.ordersOf.get(allocation.id) ?? [];
  return orders.some(({ order, answer }) => order.kind === 'start' && answer?.fact.status === 200);
}

/** @returns the host on which somebody still runs in the slot of whom the store lost its record; null: nobody does */
function forgottenOn(jobKey: string, group: string, index: number, run: RunIndex): string | null {
  for (const { allocation, lost, jobKey: ofJob } of run.allocations.values()) {
    if (lost === null || ofJob !== jobKey || allocation.group !== group || allocation.index !== index)
      continue;
    if ((run.processesOf.get(allocation.id) ?? []).some(({ ended }) => ended === null))
      return allocation.host;
  }
  return null;
}

/** What lives on a host, and should not. */
function checkLeftProcesses(quiet: Stamp, { run, times, alive }: LivenessInput, findings: Findings): void {
  for (const { allocation, host, started, ended } of run.processes) {
    const story = run.allocations.get(allocation);
    if (ended !== null || story === undefined || !alive.has(host)) continue;
    const from = story.unwanted ?? story.deleted;
    const allowedMs = times.stopMs + graceOf(story.allocation, run);
    if (from === null || run.end.atMs - Math.max(from.atMs, quiet.atMs + times.knownMs) < allowedMs) continue;
    findings.prove('I55', allocation, `still runs on ${host}, and should not since ${wordsOf(from)}`, [
      started,
      from,
      run.end,
    ]);
  }
}

function graceOf(allocation: Allocation, run: RunIndex): number {
  return Math.max(0, ...tasksOf(allocation, run).map(({ stop }) => stop.graceMs));
}

/** What an ended task leaves bound keeps its host from giving back its room. */
function lingerOf(allocation: Allocation, run: RunIndex): number {
  return Math.max(0, ...tasksOf(allocation, run).map(({ env }) => lingerMsOf(env)));
}

function tasksOf(allocation: Allocation, run: RunIndex): readonly Task[] {
  return Object.values(run.jobOf(allocation)?.groups[allocation.group]?.tasks ?? {});
}

function wordsOf({ atMs }: Stamp): string {
  return `${(atMs / 1000).toFixed(3)} s`;
}
