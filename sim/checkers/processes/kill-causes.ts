import type { RecordedHistory, Stamp } from '../../history/history.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I16, absence is no evidence: a host ends a task only on an order that it was given, at the job's own deadline, when the job says
 * how long a host may be cut off, because another task of its allocation ended, or because its shim died and nobody could ever tell its end. A host cut off from
 * everything has none of the first.
 */
export function checkKillCauses(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const orphaned = new Set<string>();
  for (const { seq, atMs, fact } of history.hosts) {
    if (fact.kind === 'shim-gone') orphaned.add(fact.attempt);
    if (fact.kind !== 'signalled' || fact.owner === null || fact.owner !== fact.by) continue;
    if (orphaned.has(fact.by)) continue;
    const id = parseAttemptName(fact.by)?.allocation ?? '';
    const at = { seq, atMs };
    if (
      isOrdered(id, at, run) ||
      isPastDeadline(id, at, run) ||
      isCutOff(id, at, run, history) ||
      hasEndedTask(id, at, run)
    )
      continue;
    // An agent that is told to take its tasks with it says so; nobody else is asked.
    if (isClosing(fact.host, at, history)) continue;
    findings.prove('I16', fact.by, `${fact.signal} on ${fact.host}, though nobody ordered it to stop`, [at]);
  }
}

/** No clock runs faster than this, see `clock-rate`. */
const FAST = 2;
/** Without faults no more time passes between two contacts: a third of a session's 10 s, and a beat until it is told on. */
const RENEWAL_MS = 5_000;
/** After a fault: a call that was under way runs into its deadline, and the next try waits up to 5 s. */
const RETURN_MS = 10_000;
/** Of the faults of the whole network or store, by plan or by chance, those that keep nobody from anything. */
const HARMLESS: ReadonlySet<string> = new Set(['doubling-network', 'watches-lag', 'watches-break']);

function isOrdered(id: string, at: Stamp, run: RunIndex): boolean {
  const orders = run.ordersOf.get(id) ?? [];
  return orders.some(({ order, seq }) => order.kind !== 'start' && seq < at.seq);
}

function isPastDeadline(id: string, at: Stamp, run: RunIndex): boolean {
  const story = run.allocations.get(id);
  const first = run.processesOf.get(id)?.[0];
  if (story === undefined || first === undefined) return false;
  const { deadlineMs } = run.jobOf(story.allocation)?.groups[story.allocation.group] ?? {};
  // The host's clock may go fast; how fast is the clock faults' business, so only its being there counts.
  return deadlineMs != null && at.seq > first.started.seq;
}

/** The job says how long a host may be cut off, and something may have kept it from the cell all that time. */
function isCutOff(id: string, at: Stamp, run: RunIndex, history: RecordedHistory): boolean {
  const story = run.allocations.get(id);
  const first = run.processesOf.get(id)?.[0];
  if (story === undefined || first === undefined) return false;
  const { stopAfterDisconnectMs } = run.jobOf(story.allocation)?.groups[story.allocation.group] ?? {};
  if (stopAfterDisconnectMs === undefined) return false;
  const faults = faultsOf(history);
  const fast = faults.some(({ kind, targets }) => kind === 'clock-rate' && targets.includes(first.host));
  const sinceMs = at.atMs - stopAfterDisconnectMs / (fast ? FAST : 1);
  const near = faults.filter(({ kind, targets }) => !HARMLESS.has(kind) && isNear(targets, first.host));
  return isCovered(near, sinceMs + RENEWAL_MS, at.atMs);
}

function isNear(targets: readonly string[], host: string): boolean {
  return targets.length === 0 || targets.includes(host) || targets.includes('store');
}

/** A fault with its time; one that nothing ended lasts. */
interface Spell {
  readonly kind: string;
  readonly targets: readonly string[];
  readonly fromMs: number;
  toMs: number;
}

/** In the order in which they began. */
function faultsOf({ nemesis }: RecordedHistory): readonly Spell[] {
  const spells = new Map<number, Spell>();
  for (const { atMs, fact } of nemesis) {
    const { fault, kind, targets, phase } = fact;
    const begun = spells.get(fault);
    if (phase === 'begin') spells.set(fault, { kind, targets, fromMs: atMs, toMs: Infinity });
    else if (begun !== undefined) begun.toMs = atMs;
  }
  return [...spells.values()];
}

/** Was there at every moment of this time one of them, or one from which the host was still on its way back? */
function isCovered(spells: readonly Spell[], fromMs: number, toMs: number): boolean {
  let coveredMs = fromMs;
  for (const spell of spells)
    if (spell.fromMs <= coveredMs) coveredMs = Math.max(coveredMs, spell.toMs + RETURN_MS);
  return coveredMs >= toMs;
}

function hasEndedTask(id: string, at: Stamp, run: RunIndex): boolean {
  return (run.processesOf.get(id) ?? []).some(({ ended }) => ended !== null && ended.seq < at.seq);
}

function isClosing(host: string, at: Stamp, history: RecordedHistory): boolean {
  return history.actors.some(
    ({ fact, seq }) => fact.actor === host && fact.change === 'closed' && seq <= at.seq,
  );
}
