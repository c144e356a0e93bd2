import type { CellKeys } from '../../src/core/keys.ts';
import type { RecordedHistory } from '../history/history.ts';
import { CellReplay } from './cell-replay.ts';
import type { LivenessTimes } from './liveness.ts';
import { checkLiveness } from './liveness.ts';
import { LossChecker } from './losses.ts';
import { RunBook } from './run-book.ts';
import { hostsAheadOfTime } from './turned-clocks.ts';
import { Findings } from './violations.ts';

/** How long the run would last, and what would be asked of it then. */
export interface Horizon {
  readonly keys: CellKeys;
  /** How many there are; each must hold its session. */
  readonly hosts: number;
  readonly times: LivenessTimes;
  readonly endMs: number;
}

/**
 * Would the checkers of liveness be content at `endMs` if nothing more happened until then? To be asked in the quiet period:
 * a run of which this is true may end now, and no question of liveness goes unasked for that.
 */
export function isSettled(history: RecordedHistory, horizon: Horizon): boolean {
  const { alive, findings } = openAt(history, horizon);
  return alive >= horizon.hosts && findings.count === 0;
}

/**
 * What the checkers of liveness would say if the run ended at `endMs`, with what has happened up to now.
 * @returns also how many hosts hold their session
 */
export function openAt(
  history: RecordedHistory,
  { keys, times, endMs }: Horizon,
): { readonly alive: number; readonly findings: Findings } {
  const replay = new CellReplay(keys);
  const book = new RunBook(history, { seq: Infinity, atMs: endMs });
  const losses = new LossChecker(keys);
  const findings = new Findings();
  for (const at of history.revisions) {
    const step = replay.apply(at.fact.revision, at.fact.changes, at.fact.isRestore);
    book.take(step, at);
    losses.check(step, replay.cell, at, findings);
  }
  const open = new Findings();
  const ahead = hostsAheadOfTime(history);
  checkLiveness({ book, cell: replay.cell, alive: losses.alive, ahead, times }, open);
  return { alive: losses.alive.size, findings: open };
}
