import { AGENT_SETTINGS } from '../../host-agent/defaults.ts';
import { parseAttemptName } from '../../src/wire/shim-files.ts';
import type { OutputFact } from '../history/facts.ts';
import type { RecordedHistory, Stamp, Stamped } from '../history/history.ts';
import { pushTo } from './run-book.ts';
import type { Findings } from './violations.ts';

/** A piece of what a task wrote. */
interface Written extends Stamp {
  readonly host: string;
  readonly attempt: number;
  readonly offset: number;
  readonly end: number;
  readonly text: string;
  /** On its disk at first. */
  readonly isKept: boolean;
}

/** What hosts wrote down and gave up. */
interface Book {
  /** By allocation, in the order of their offsets. */
  readonly written: ReadonlyMap<string, readonly Written[]>;
  /** By host: losses of power. */
  readonly darkened: ReadonlyMap<string, readonly Stamp[]>;
  /** By allocation and attempt, with the offset before which nothing is left. */
  readonly gaveUp: ReadonlyMap<string, readonly (Stamp & { readonly until: number })[]>;
}

/**
 * I28: whoever reads a task's output gets the bytes that it wrote, each once and in their order. What is left out was not
 * there any more, which the next offset says; and who is told that this is all has had all that was there.
 */
export function checkOutputs(history: RecordedHistory, findings: Findings): void {
  if (history.outputs.length === 0) return;
  const book = bookOf(history);
  const readers = new Map<string, Stamped<OutputFact>[]>();
  for (const told of history.outputs) pushTo(readers, `${told.fact.reader} ${told.fact.allocation}`, told);
  for (const told of readers.values()) checkReader(told, book, findings);
}

function bookOf({ hosts }: RecordedHistory): Book {
  const written = new Map<string, Written[]>();
  const darkened = new Map<string, Stamp[]>();
  const gaveUp = new Map<string, (Stamp & { until: number })[]>();
  for (const { seq, atMs, fact } of hosts) {
    if (fact.kind === 'power-off') pushTo(darkened, fact.host, { seq, atMs });
    if (fact.kind !== 'wrote' && fact.kind !== 'gave-up') continue;
    const name = parseAttemptName(fact.attempt);
    if (name === null) continue;
    if (fact.kind === 'gave-up') {
      pushTo(gaveUp, placeOf(name.allocation, name.number), { seq, atMs, until: fact.until });
      continue;
    }
    const { host, offset, text, isKept } = fact;
    const piece = { host, attempt: name.number, offset, end: offset + text.length, text, isKept };
    pushTo(written, name.allocation, { seq, atMs, ...piece });
  }
  return { written, darkened, gaveUp };
}

function placeOf(allocation: string, attempt: number): string {
  return `${allocation} ${String(attempt)}`;
}

function checkReader(told: readonly Stamped<OutputFact>[], book: Book, findings: Findings): void {
  let at = 0;
  let last: Stamp | null = null;
  for (const { seq, atMs, fact } of told) {
    const now = { seq, atMs };
    const { reader, allocation } = fact;
    const prove = (detail: string, ...evidence: readonly Stamp[]): void =>
      findings.prove('I28', allocation, `${reader} ${detail}`, [now, ...evidence]);
    const pieces = (book.written.get(allocation) ?? []).filter((piece) => piece.seq < seq);
    const to = 'isOver' in fact ? Infinity : fact.offset;
    const isLeftOut = (piece: Written): boolean => at < to && piece.end > at && piece.offset < to;
    const left = pieces.find((piece) => isLeftOut(piece) && isThere(piece, now, allocation, book));
    if (left !== undefined)
      prove(`was not told what lies at ${String(Math.max(at, left.offset))}, which was there`, left);
    if ('isOver' in fact) return;
    if (fact.offset < at)
      prove(`was told what lies at ${String(fact.offset)} again`, ...(last === null ? [] : [last]));
    const wrong = firstOther(fact, pieces);
    if (wrong !== null) prove(`was told what nobody wrote at ${String(wrong)}`);
    at = fact.offset + fact.text.length;
    last = now;
  }
}

/** Had its host kept the piece until then? */
function isThere(
  piece: Written,
  at: Stamp,
  allocation: string,
  { written, darkened, gaveUp }: Book,
): boolean {
  if (!piece.isKept) return false;
  const since = (one: Stamp): boolean => one.seq > piece.seq && one.seq < at.seq;
  if (darkened.get(piece.host)?.some(since) === true) return false;
  const gone = gaveUp.get(placeOf(allocation, piece.attempt)) ?? [];
  if (gone.some((one) => since(one) && one.until > piece.offset)) return false;
  // Of older attempts the host forgets the files.
  const later = written.get(allocation)?.findLast((one) => one.seq < at.seq)?.attempt ?? piece.attempt;
  return piece.attempt > later - AGENT_SETTINGS.attemptsKept;
}

/** @returns the offset of the first byte that is not as it was written; null: there is none. What was not kept reads as zeros */
function firstOther(
  { offset, text }: { readonly offset: number; readonly text: string },
  pieces: readonly Written[],
): number | null {
  let at = 0;
  for (const piece of pieces) {
    if (piece.end <= offset + at || at >= text.length) continue;
    if (piece.offset > offset + at) break;
    const from = offset + at - piece.offset;
    const length = Math.min(text.length - at, piece.text.length - from);
    const was = piece.isKept ? piece.text.slice(from, from + length) : '\0'.repeat(length);
    if (text.slice(at, at + length) !== was) return offset + at;
    at += length;
  }
  return at < text.length ? offset + at : null;
}
