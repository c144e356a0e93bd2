import type { RecordedHistory, Stamp } from '../../history/history.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I16, absence is no evidence: a host kills a task only on an order, at the job's deadline, after the time for which the job lets a host
 * be cut off (`disconnect.stopAfter`), because another task of its allocation ended, or because its shim died, so that its
 * exit could not be learnt.
 */
export function checkKillCauses(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const orphaned = new Set<string>();
  for (const { seq, atMs, fact } of history.hosts) {
    if (fact.kind === 'shim-gone') orphaned.add(fact.attempt);
    if (fact.kind !== 'signalled' || fact.owner === null || fact.owner !== fact.by) continue;
    if (orphaned.has(fact.by)) continue;
    const id = parseAttemptName(fact.by)?.allocation ?? '';
    const at = { seq, atMs };
    const hasCause =
      isOrdered(id, at, run) ||
      isPastDeadline(id, at, run) ||
      isCutOff(id, at, run, history) ||
      hasEndedTask(id, at, run);
    if (!hasCause)
      findings.prove('I16', fact.by, `${fact.signal} on ${fact.host} without an order to stop`, [at]);
  }
}

/** No clock runs faster than this, see `clock-rate`. */
const FAST = 2;
/** Without faults at most this passes between two contacts: a third of a session's 10 s, and a beat until the shim learns of it. */
const RENEWAL_MS = 5_000;
/** After a fault: a call that was under way runs into its deadline, and the next try waits up to 5 s. */
const RETURN_MS = 10_000;
/** Faults of the whole network or store that cut no host off. */
const HARMLESS: ReadonlySet<string> = new Set(['doubling-network', 'watches-lag', 'watches-break']);

function isOrdered(id: string, at: Stamp, run: RunIndex): boolean {
  const orders = run.ordersOf.get(id) ?? [];
  return orders.some(({ order, seq }) => order.kind !== 'start' && seq < at.seq);
}

function isPastDeadline(id: string, at: Stamp, run: RunIndex): boolean {
  const story = run.allocations.get(id);
  const first = run.processesOf.get(id)?.[0];
  if (story === undefined || first === undefined) return false;
  const { deadlineMs } = run.groupOf(story.allocation) ?? {};
  // The host's clock may run fast, so only that there is a deadline counts.
  return deadlineMs != null && at.seq > first.started.seq;
}

/** The job bounds how long a host may be cut off, and faults may have kept the host from the cell all that time. */
function isCutOff(id: string, at: Stamp, run: RunIndex, history: RecordedHistory): boolean {
  const story = run.allocations.get(id);
  const first = run.processesOf.get(id)?.[0];
  if (story === undefined || first === undefined) return false;
  const { stopAfterDisconnectMs } = run.groupOf(story.allocation) ?? {};
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

/** Was there at every moment of this time a fault, or one after which the host had not yet reconnected? */
function isCovered(spells: readonly Spell[], fromMs: number, toMs: number): boolean {
  let coveredMs = fromMs;
  for (const spell of spells)
    if (spell.fromMs <= coveredMs) coveredMs = Math.max(coveredMs, spell.toMs + RETURN_MS);
  return coveredMs >= toMs;
}

function hasEndedTask(id: string, at: Stamp, run: RunIndex): boolean {
  return (run.processesOf.get(id) ?? []).some(({ ended }) => ended !== null && ended.seq < at.seq);
}
