import type { OutputFact } from '../../history/facts.ts';
import type { RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import type { OutputIndex, Written } from './output-index.ts';
import { isKeptUntil, isThere, outputIndexOf } from './output-index.ts';
import { pushTo } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I28: a reader of a task's output gets the bytes that the task wrote, each once and in their order. What is left out was no longer on the
 * host, which the next offset shows; a reader that is told of the end has had all that was there.
 */
export function checkOutputs(history: RecordedHistory, findings: Findings): void {
  if (history.outputs.length === 0) return;
  const index = outputIndexOf(history);
  const readers = new Map<string, Stamped<OutputFact>[]>();
  for (const read of history.outputs) pushTo(readers, `${read.fact.reader} ${read.fact.allocation}`, read);
  for (const read of readers.values()) checkReader(read, index, findings);
}

function checkReader(read: readonly Stamped<OutputFact>[], index: OutputIndex, findings: Findings): void {
  let at = 0;
  let last: Stamp | null = null;
  for (const { seq, atMs, fact } of read) {
    const now = { seq, atMs };
    const { reader, allocation } = fact;
    const prove = (detail: string, ...evidence: readonly Stamp[]): void =>
      findings.prove('I28', allocation, `${reader} ${detail}`, [now, ...evidence]);
    if ('asks' in fact) continue;
    const pieces = (index.written.get(allocation) ?? []).filter((piece) => piece.seq < seq);
    if ('refused' in fact) {
      if (fact.refused !== 'log-gone') continue;
      const there = pieces.find((piece) => piece.end > at && isThere(piece, now, allocation, index));
      if (there !== undefined) prove('was told that its output is gone, and it was there', there);
      return;
    }
    const to = 'isOver' in fact ? Infinity : fact.offset;
    const isLeftOut = (piece: Written): boolean => at < to && piece.end > at && piece.offset < to;
    const left = pieces.find((piece) => isLeftOut(piece) && isKeptUntil(piece, now, allocation, index));
    if (left !== undefined)
      prove(`was not told what lies at ${String(Math.max(at, left.offset))}, which was there`, left);
    if ('isOver' in fact) return;
    if (fact.offset < at)
      prove(`was told what lies at ${String(fact.offset)} again`, ...(last === null ? [] : [last]));
    const wrong = firstOther(fact, pieces);
    if (wrong !== null) prove(`was told bytes that were not written, at ${String(wrong)}`);
    at = fact.offset + fact.text.length;
    last = now;
  }
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
