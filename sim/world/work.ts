import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { History } from '../history/history.ts';
import type { WorkDone } from './options.ts';

/** What was done in a run, counted from its history. */
export function workDone(history: History, keys: CellKeys): WorkDone {
  const acknowledged = history.calls.filter(({ answer }) => answer?.fact.result === 'ok').length;
  return {
    submitted: history.calls.length,
    acknowledged,
    committed: created(history, keys.allocations),
    started: history.hosts.filter(({ fact }) => fact.kind === 'started').length,
    ended: history.hosts.filter(({ fact }) => fact.kind === 'ended').length,
    outcomes: created(history, keys.outcomes),
  };
}

/** Keys under the prefix that came to be. */
function created(history: History, prefix: string): number {
  let count = 0;
  for (const { fact } of history.revisions)
    for (const change of fact.changes)
      if (change.kind === 'put' && change.entry.createRevision === fact.revision)
        if (change.entry.key.startsWith(prefix)) count += 1;
  return count;
}
