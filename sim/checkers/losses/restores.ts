import type { RecordedHistory, Stamp } from '../../history/history.ts';
import type { CellAt } from '../replay/replay.ts';
import { poolHasCapacity } from '../liveness/feasible.ts';
import type { AllocationStory, ProcessStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I53 and I54, for jobs that are in the cell at the end: a task that ran when the store was restored or lost runs on under its own id,
 * and the store has its allocation; a task that had ended is not started again.
 */
export function checkRestores(
  history: RecordedHistory,
  run: RunIndex,
  end: { readonly cell: CellAt; readonly alive: ReadonlySet<string> },
  findings: Findings,
): void {
  const restore = history.restores.at(-1);
  if (restore === undefined || run.quietFrom === null) return;
  const id = restore.fact.to === null ? 'I53' : 'I54';
  for (const process of run.processes) {
    const story = run.allocations.get(process.allocation);
    if (story === undefined || !end.cell.jobs.has(story.jobKey)) continue;
    if (
      process.ended === null &&
      story.lost !== null &&
      end.alive.has(process.host) &&
      hasPoolCapacity(story, end)
    )
      findings.prove(id, process.allocation, `runs on ${process.host}, and the store does not know of it`, [
        process.started,
        story.lost,
        run.end,
      ]);
    if (process.started.seq > restore.seq) checkRevived(id, process, restore, run, findings);
  }
}

/**
 * While the store did not have the allocation, its share of a pool may have been given away: then its claim waits until the pool has
 * capacity again. On its host that cannot happen: nothing is placed there before the host has reported.
 */
function hasPoolCapacity({ allocation }: AllocationStory, { cell }: { readonly cell: CellAt }): boolean {
  return Object.entries(allocation.shared ?? {}).every(([pool, amount]) =>
    poolHasCapacity(cell, pool, amount),
  );
}

/** A batch task that had completed before the restore, and runs once more after it. */
function checkRevived(
  id: string,
  process: ProcessStory,
  restore: Stamp,
  run: RunIndex,
  findings: Findings,
): void {
  const story = run.allocations.get(process.allocation);
  if (story === undefined || run.jobOf(story.allocation)?.type !== 'batch') return;
  for (const other of run.allocations.values()) {
    if (other.slot !== story.slot || other.allocation.jobVersion !== story.allocation.jobVersion) continue;
    const last = run.processesOf.get(other.allocation.id)?.at(-1)?.ended;
    if (other === story || last == null || last.seq > restore.seq || last.fact.code !== 0) continue;
    // A task that was being stopped, and completed meanwhile, may be started again.
    if (run.ordersOf.get(other.allocation.id)?.some(({ order }) => order.kind === 'stop') === true) continue;
    findings.prove(id, story.slot, 'had come to its end before the store was restored, and runs again', [
      last,
      process.started,
    ]);
    return;
  }
}
