import type { OutputFact } from '../../history/facts.ts';
import type { RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import { deliveredUntilMs } from '../replay/delivery-deadline.ts';
import type { OutputIndex } from './output-index.ts';
import { isThere, outputIndexOf } from './output-index.ts';
import { pushTo } from '../replay/run-index.ts';
import { Findings } from '../replay/violations.ts';

/**
 * I28 after a quiet period: a reader of a task's output has come to the end of what the host still has, whatever was refused
 * meanwhile. A host without a session need not answer.
 * @param alive the hosts whose session is there at the end
 */
export function checkUnreadOutputs(
  history: RecordedHistory,
  alive: ReadonlySet<string>,
  findings: Findings,
): void {
  const end = history.phases.find(({ fact }) => fact.phase === 'end');
  if (end !== undefined)
    checkReaders(history, deliveredUntilMs(history), end, (host) => alive.has(host), findings);
}

/** A task that goes on writing is never wholly read: younger bytes may be on their way. */
const ON_ITS_WAY_MS = 2_000;

/** Has every reader of output read what there is of it at `now`? */
export function allRead(history: RecordedHistory, now: Stamp): boolean {
  const open = new Findings();
  checkReaders(history, now.atMs - ON_ITS_WAY_MS, now, () => true, open);
  return open.count === 0;
}

/** @param untilMs what was written up to this time must have been read at `now` */
function checkReaders(
  history: RecordedHistory,
  untilMs: number,
  now: Stamp,
  mustBeRead: (host: string) => boolean,
  findings: Findings,
): void {
  if (history.outputs.length === 0) return;
  const index = outputIndexOf(history);
  const readers = new Map<string, Stamped<OutputFact>[]>();
  for (const read of history.outputs) pushTo(readers, `${read.fact.reader} ${read.fact.allocation}`, read);
  for (const read of readers.values()) checkReader(read, index, untilMs, now, mustBeRead, findings);
}

function checkReader(
  read: readonly Stamped<OutputFact>[],
  index: OutputIndex,
  untilMs: number,
  now: Stamp,
  mustBeRead: (host: string) => boolean,
  findings: Findings,
): void {
  const last = read.at(-1);
  if (last === undefined || isLast(last.fact)) return;
  const { reader, allocation } = last.fact;
  const at = positionIn(read);
  const unread = index.written
    .get(allocation)
    ?.find(
      (piece) =>
        piece.end > at &&
        piece.atMs <= untilMs &&
        mustBeRead(piece.host) &&
        isThere(piece, now, allocation, index),
    );
  if (unread === undefined) return;
  const refusals = read.filter(({ fact }) => 'refused' in fact).length;
  const detail = `${reader} has not come to read what lies at ${String(Math.max(at, unread.offset))}, refused ${String(refusals)} times`;
  findings.prove('I28', allocation, detail, [unread, last, now]);
}

/** Does the reader ask no more? Whether what it got is true is checked by `checkOutputs`. */
function isLast(fact: OutputFact): boolean {
  return 'isOver' in fact || ('refused' in fact && fact.refused === 'log-gone');
}

function positionIn(read: readonly Stamped<OutputFact>[]): number {
  let at = 0;
  for (const { fact } of read) if ('text' in fact) at = fact.offset + fact.text.length;
  return at;
}
