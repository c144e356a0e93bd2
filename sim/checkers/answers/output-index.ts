import { AGENT_SETTINGS } from '../../../host-agent/defaults.ts';
import { FINAL_REFUSALS } from '../../../src/wire/api/host-api.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { OrderRecord, RecordedHistory, Stamp } from '../../history/history.ts';
import { allocationOf } from '../replay/departures.ts';
import { pushTo } from '../replay/run-index.ts';

/** A piece of what a task wrote. */
export interface Written extends Stamp {
  readonly host: string;
  readonly attempt: number;
  readonly offset: number;
  readonly end: number;
  readonly text: string;
  /** On its disk at first. */
  readonly isKept: boolean;
}

/** What hosts kept of their tasks' output, and what they dropped. */
export interface OutputIndex {
  /** By allocation, in the order of their offsets. */
  readonly written: ReadonlyMap<string, readonly Written[]>;
  /** By host: losses of power. */
  readonly powerLosses: ReadonlyMap<string, readonly Stamp[]>;
  /** By allocation and attempt, with the offset before which nothing is left. */
  readonly dropped: ReadonlyMap<string, readonly (Stamp & { readonly until: number })[]>;
  /** By allocation: the first order by which its host may have forgotten all of it. */
  readonly forgotten: ReadonlyMap<string, Stamp>;
}

export function outputIndexOf({ hosts, orders }: Pick<RecordedHistory, 'hosts' | 'orders'>): OutputIndex {
  const written = new Map<string, Written[]>();
  const powerLosses = new Map<string, Stamp[]>();
  const dropped = new Map<string, (Stamp & { until: number })[]>();
  for (const { seq, atMs, fact } of hosts) {
    if (fact.kind === 'power-off') pushTo(powerLosses, fact.host, { seq, atMs });
    if (fact.kind !== 'wrote' && fact.kind !== 'gave-up') continue;
    const name = parseAttemptName(fact.attempt);
    if (name === null) continue;
    if (fact.kind === 'gave-up') {
      pushTo(dropped, placeOf(name.allocation, name.number), { seq, atMs, until: fact.until });
      continue;
    }
    const { host, offset, text, isKept } = fact;
    const piece = { host, attempt: name.number, offset, end: offset + text.length, text, isKept };
    pushTo(written, name.allocation, { seq, atMs, ...piece });
  }
  return { written, powerLosses, dropped, forgotten: forgottenBy(orders) };
}

function forgottenBy(orders: readonly OrderRecord[]): ReadonlyMap<string, Stamp> {
  const forgotten = new Map<string, Stamp>();
  for (const record of orders) {
    const id = allocationOf(record);
    if (!forgotten.has(id) && mayForget(record)) forgotten.set(id, { seq: record.seq, atMs: record.atMs });
  }
  return forgotten;
}

/** A removal, or an order that fences the id of an allocation without a record. Without an answer it may have been done, too. */
function mayForget({ order, answer }: OrderRecord): boolean {
  if (order.kind === 'remove') return true;
  if (order.kind === 'stop') return answer?.fact.status !== 200;
  return answer !== null && FINAL_REFUSALS.has(answer.fact.code ?? '');
}

function placeOf(allocation: string, attempt: number): string {
  return `${allocation} ${String(attempt)}`;
}

/** Can the piece still be read from its host at that moment? */
export function isThere(piece: Written, at: Stamp, allocation: string, index: OutputIndex): boolean {
  const forgotten = index.forgotten.get(allocation);
  const isKnown = forgotten === undefined || forgotten.seq > at.seq;
  return isKnown && isKeptUntil(piece, at, allocation, index);
}

/** Had its host kept the piece until then? Whether it has forgotten the whole allocation is another question. */
export function isKeptUntil(
  piece: Written,
  at: Stamp,
  allocation: string,
  { written, powerLosses, dropped }: OutputIndex,
): boolean {
  if (!piece.isKept) return false;
  const since = (one: Stamp): boolean => one.seq > piece.seq && one.seq < at.seq;
  if (powerLosses.get(piece.host)?.some(since) === true) return false;
  const gone = dropped.get(placeOf(allocation, piece.attempt)) ?? [];
  if (gone.some((one) => since(one) && one.until > piece.offset)) return false;
  // Of older attempts the host forgets the files.
  const later = written.get(allocation)?.findLast((one) => one.seq < at.seq)?.attempt ?? piece.attempt;
  return piece.attempt > later - AGENT_SETTINGS.attemptsKept;
}
