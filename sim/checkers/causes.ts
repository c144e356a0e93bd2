import type { RecordedHistory, Stamp } from '../history/history.ts';
import { parseAttemptName } from '../../src/wire/shim-files.ts';
import type { RunBook } from './run-book.ts';
import type { Findings } from './violations.ts';

/**
 * I16, absence is no evidence: a host ends a task only on an order that it was given, at the job's own deadline, when the job says
 * how long a host may be cut off, because another task of its allocation ended, or because its shim died and nobody could ever tell its end. A host cut off from
 * everything has none of the first.
 */
export function checkCauses(history: RecordedHistory, book: RunBook, findings: Findings): void {
  const orphaned = new Set<string>();
  for (const { seq, atMs, fact } of history.hosts) {
    if (fact.kind === 'shim-gone') orphaned.add(fact.attempt);
    if (fact.kind !== 'signalled' || fact.owner === null || fact.owner !== fact.by) continue;
    if (orphaned.has(fact.by)) continue;
    const id = parseAttemptName(fact.by)?.allocation ?? '';
    const at = { seq, atMs };
    if (
      isOrdered(id, at, book) ||
      isPastDeadline(id, at, book) ||
      isCutOff(id, at, book, history) ||
      hasEndedTask(id, at, book)
    )
      continue;
    // An agent that is told to take its tasks with it says so; nobody else is asked.
    if (isClosing(fact.host, at, history)) continue;
    findings.prove('I16', fact.by, `${fact.signal} on ${fact.host}, though nobody ordered it to stop`, [at]);
  }
}

/** No clock runs faster than this, see `clock-rate`. */
const FAST = 2;
/** Of the faults of the whole network those that keep nobody from anything. */
const HARMLESS: ReadonlySet<string> = new Set(['doubling-network', 'watches-lag', 'watches-break']);

function isOrdered(id: string, at: Stamp, book: RunBook): boolean {
  const orders = book.ordersOf.get(id) ?? [];
  return orders.some(({ order, seq }) => order.kind !== 'start' && seq < at.seq);
}

function isPastDeadline(id: string, at: Stamp, book: RunBook): boolean {
  const story = book.allocations.get(id);
  const first = book.processesOf.get(id)?.[0];
  if (story === undefined || first === undefined) return false;
  const { deadlineMs } = book.jobOf(story.allocation)?.groups[story.allocation.group] ?? {};
  // The host's clock may go fast; how fast is the clock faults' business, so only its being there counts.
  return deadlineMs != null && at.seq > first.started.seq;
}

/** The job says how long a host may be cut off: something may have kept it from the cell, and that long ago at least. */
function isCutOff(id: string, at: Stamp, book: RunBook, history: RecordedHistory): boolean {
  const story = book.allocations.get(id);
  const first = book.processesOf.get(id)?.[0];
  if (story === undefined || first === undefined) return false;
  const { stopAfterDisconnectMs } = book.jobOf(story.allocation)?.groups[story.allocation.group] ?? {};
  if (stopAfterDisconnectMs === undefined) return false;
  const longAgoMs = at.atMs - stopAfterDisconnectMs / FAST;
  const isNear = (target: string): boolean => target === first.host || target === 'store';
  return history.nemesis.some(
    ({ atMs, fact }) =>
      atMs <= longAgoMs &&
      !HARMLESS.has(fact.kind) &&
      (fact.targets.length === 0 || fact.targets.some(isNear)),
  );
}

function hasEndedTask(id: string, at: Stamp, book: RunBook): boolean {
  return (book.processesOf.get(id) ?? []).some(({ ended }) => ended !== null && ended.seq < at.seq);
}

function isClosing(host: string, at: Stamp, history: RecordedHistory): boolean {
  return history.actors.some(
    ({ fact, seq }) => fact.actor === host && fact.change === 'closed' && seq <= at.seq,
  );
}
