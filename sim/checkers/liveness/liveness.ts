/**
 * What must have come about when the faults are over.
 *
 * - This file: slots are filled, tasks are started, stopped allocations are gone (I10, I24, I55).
 * - `feasible.ts`: a host that has capacity for one more task of a group; `outstanding-grants.ts`: the part of a quota that the store does not show
 * - `data.ts`: the hosts that the data of a slot leaves it
 * - `rollouts.ts`: an update has ended, or waits for somebody (I70)
 * - `drained.ts`: a drained host is empty after its deadline (I62)
 */
import type { Allocation, Outcome } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { Group, JobRecord } from '../../../src/core/cell/job.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import type { Stamp, Stamped } from '../../history/history.ts';
import { lingerMsOf } from '../../machine/task-env.ts';
import type { CellAt } from '../replay/replay.ts';
import { hostsOfData } from './data.ts';
import { feasibleHost } from './feasible.ts';
import { outstandingGrantsIn } from './outstanding-grants.ts';
import type { AllocationStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

export interface LivenessTimes {
  /** From the last fault until the cell knows which roles and hosts are gone (sessions of 10 s); every other time counts from then on. */
  readonly knownMs: number;
  /** From when a slot could be filled to its allocation's start (I10), and from a placement to its start (I55). */
  readonly placeMs: number;
  /** From the order to stop to the end of the record, besides the task's grace and the time for which its ports stay bound. */
  readonly stopMs: number;
}

/** What a run must have come to after its quiet period. */
export interface LivenessInput {
  readonly run: RunIndex;
  readonly cell: CellAt;
  /** Hosts with a session at the end. */
  readonly alive: ReadonlySet<string>;
  /** Those of them that can start nothing for now: `hostsAheadOfTime`. */
  readonly ahead: ReadonlySet<string>;
  /** No clock was set or ran at a wrong rate: all roles agree on how long something has waited. */
  readonly clocksAreTrue: boolean;
  readonly times: LivenessTimes;
}

/**
 * After a quiet period every slot that could be filled is filled or has ended (I10); no slot waits beyond its longest wait (I24); what
 * was reserved runs, and what should not run is gone from the store and from the hosts (I55).
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
    // Members of a gang wait together, and until those that leave are gone.
    if (group.waitMaxMs !== null && clocksAreTrue && (!group.gang || slots.size === 0)) {
      const waits = waitsSince(jobKey, group, group.gang ? null : index, run) ?? since;
      const lateMs = Math.max(waits.atMs + group.waitMaxMs, quiet.atMs + times.knownMs) + times.placeMs;
      if (lateMs < run.end.atMs) {
        findings.prove('I24', slot, 'waits longer than it may, and has no outcome', [waits, run.end]);
        continue;
      }
    }
    if (dueMs > run.end.atMs) continue;
    const outstanding = outstandingGrantsIn(record.job.namespace, cell, run, run.end.atMs - times.placeMs);
    const runsOn = forgottenOn(jobKey, group.name, index, run);
    // What the store lost comes back with its claim, and waits where its capacity was given away meanwhile.
    if (runsOn !== null && feasibleHost(cell, record, group, new Set([runsOn]), outstanding) === null)
      continue;
    const hosts = withData(hostsOfData(cell, record, group, index), hostsFor(group, history, able, cell));
    const free = feasibleHost(cell, record, group, hosts, outstanding);
    if (free !== null)
      findings.prove('I10', slot, `is empty since ${wordsOf(since)}, and ${free} has capacity for it`, [
        since,
        run.end,
      ]);
  }
}

/** Where the slot may go: what no drain moves waits for its host, unless that is gone or lost. */
function hostsFor(
  { reschedule }: Group,
  history: readonly Stamped<Outcome>[],
  able: ReadonlySet<string>,
  cell: CellAt,
): ReadonlySet<string> {
  const last = history.at(-1)?.fact;
  if (reschedule.onDrain !== false || last?.cause !== CAUSES.draining) return able;
  const isAwaited = cell.hosts.has(last.host) && cell.eligibility.get(last.host)?.state !== 'lost';
  return isAwaited ? new Set([last.host].filter((host) => able.has(host))) : able;
}

function withData(only: ReadonlySet<string> | 'all', hosts: ReadonlySet<string>): ReadonlySet<string> {
  return only === 'all' ? hosts : new Set([...hosts].filter((host) => only.has(host)));
}

/** The outcomes of the slot, by attempt: that of one on a lost host may be written after that of its successor. */
function historyOf(jobKey: string, group: string, index: number, run: RunIndex): Stamped<Outcome>[] {
  return [...run.outcomes.values()]
    .filter(
      ({ fact }) =>
        jobKeyOf(fact.namespace, fact.job) === jobKey && fact.group === group && fact.index === index,
    )
    .sort((a, b) => a.fact.attempt - b.fact.attempt);
}

/**
 * A slot that has used up its attempts, or of a batch job one that is complete. A service fails by ending, too, and is counted anew
 * after a run that lasted longer than its longest delay.
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

/** Since when the slot could have been filled: submitted, its last end recorded and its delay over, faults over. */
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
  // The capacity may have come back only with the last release in the cell.
  for (const story of run.allocations.values()) if (story.deleted !== null) later(story.deleted, 0);
  return since;
}

function checkStory(story: AllocationStory, quiet: Stamp, input: LivenessInput, findings: Findings): void {
  const { run, cell, times } = input;
  const { allocation, unwanted, created } = story;
  // A host without a session decides by its own time.
  if (!input.alive.has(allocation.host)) return;
  const since = (at: Stamp): number => run.end.atMs - Math.max(at.atMs, quiet.atMs + times.knownMs);
  if (unwanted !== null) {
    if (since(unwanted) >= times.stopMs + run.graceMsOf(allocation) + lingerOf(allocation, run))
      findings.prove(
        'I55',
        allocation.id,
        `should be gone since ${wordsOf(unwanted)}, and is still in the store`,
        [unwanted, run.end],
      );
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

/** It has ended on its host for good, and its record is still there. */
function checkEnded(
  { allocation, created }: AllocationStory,
  since: (at: Stamp) => number,
  { run, times }: LivenessInput,
  findings: Findings,
): void {
  const processes = run.processesOf.get(allocation.id) ?? [];
  const last = processes.at(-1)?.ended;
  if (last == null || processes.some(({ ended }) => ended === null)) return;
  const restart = run.groupOf(allocation)?.restart;
  if (since(last) >= times.stopMs + (restart?.delayMs ?? 0) + lingerOf(allocation, run))
    findings.prove('I55', allocation.id, `ended at ${wordsOf(last)}, and is still in the store`, [
      created,
      last,
      run.end,
    ]);
}

/** Accepted: it waits for preempted allocations to end, or its command cannot be executed. */
function isKnownToHost(allocation: Allocation, run: RunIndex): boolean {
  const orders = run.ordersOf.get(allocation.id) ?? [];
  return orders.some(({ order, answer }) => order.kind === 'start' && answer?.fact.status === 200);
}

/** @returns the host where an allocation of the slot runs whose record the store lost; null: there is none */
function forgottenOn(jobKey: string, group: string, index: number, run: RunIndex): string | null {
  for (const { allocation, lost, jobKey: ofJob } of run.allocations.values()) {
    if (lost === null || ofJob !== jobKey || allocation.group !== group || allocation.index !== index)
      continue;
    if ((run.processesOf.get(allocation.id) ?? []).some(({ ended }) => ended === null))
      return allocation.host;
  }
  return null;
}

/** Processes that should have ended. */
function checkLeftProcesses(quiet: Stamp, { run, times, alive }: LivenessInput, findings: Findings): void {
  for (const { allocation, host, started, ended } of run.processes) {
    const story = run.allocations.get(allocation);
    if (ended !== null || story === undefined || !alive.has(host)) continue;
    const from = story.unwanted ?? story.deleted;
    const allowedMs = times.stopMs + run.graceMsOf(story.allocation);
    if (from === null || run.end.atMs - Math.max(from.atMs, quiet.atMs + times.knownMs) < allowedMs) continue;
    findings.prove('I55', allocation, `still runs on ${host}, and should not since ${wordsOf(from)}`, [
      started,
      from,
      run.end,
    ]);
  }
}

/** A host releases an allocation only when its ports and addresses are free. */
function lingerOf(allocation: Allocation, run: RunIndex): number {
  return Math.max(
    0,
    ...Object.values(run.groupOf(allocation)?.tasks ?? {}).map(({ env }) => lingerMsOf(env)),
  );
}

function wordsOf({ atMs }: Stamp): string {
  return `${(atMs / 1000).toFixed(3)} s`;
}
