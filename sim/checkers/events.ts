import type { RecordedHistory, Stamp } from '../history/history.ts';
import type { AllocationStory, RunBook } from './run-book.ts';
import type { Findings } from './violations.ts';

/**
 * I52: a client is told of each event once, and every end is in the history: an allocation that ran, and whose record was
 * to be kept, never leaves the store without its outcome.
 */
export function checkEvents(history: RecordedHistory, book: RunBook, findings: Findings): void {
  const seen = new Map<string, Stamp>();
  for (const event of history.events) {
    const { client, monitor, event: told } = event.fact;
    const key = `${client} ${monitor} ${told.id}`;
    const before = seen.get(key);
    if (before !== undefined)
      findings.prove('I52', told.id, `${client} was told twice by ${monitor}: ${told.kind}`, [before, event]);
    seen.set(key, event);
  }
  for (const story of book.allocations.values()) checkKept(story, book, findings);
}

function checkKept(story: AllocationStory, book: RunBook, findings: Findings): void {
  const { allocation, deleted, outcome, desired } = story;
  if (deleted === null || outcome !== null || desired === 'remove') return;
  const ran = book.processesOf.get(allocation.id)?.find(({ started }) => started.seq < deleted.seq);
  if (ran !== undefined)
    findings.prove('I52', allocation.id, 'it ran, and left the store without an outcome', [
      ran.started,
      deleted,
    ]);
}
