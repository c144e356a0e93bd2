import type { RecordedHistory, Stamp } from '../../history/history.ts';
import type { CellAt } from '../replay/replay.ts';
import { poolHasCapacity } from '../liveness/feasible.ts';
import type { AllocationStory, ProcessStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I53 and I54, for jobs that the cell has (again) at the end: what ran when the store was restored or lost runs on under
 * its own id, and the store knows of it; nobody ends it on that account; and what had come to its end is not begun again.
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
      mayBeTaken(story, end)
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
 * Others may have taken of a pool meanwhile, as nobody knew what the task takes of it: then its claim waits until there is
 * room again. Not so on its host: nothing is decided there before the host was heard.
 */
function mayBeTaken({ allocation }: AllocationStory, { cell }: { readonly cell: CellAt }): boolean {
  return Object.entries(allocation.shared ?? {}).every(([pool, amount]) =>
    poolHasCapacity(cell, pool, amount),
  );
}

/** A task of a list that had ended well before the restore, and runs once more after it. */
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
    // Who was told to give way, and came to an end meanwhile, may begin again.
    if (run.ordersOf.get(other.allocation.id)?.some(({ order }) => order.kind === 'stop') === true) continue;
    findings.prove(id, story.slot, 'had come to its end before the store was restored, and runs again', [
      last,
      process.started,
    ]);
    return;
  }
}
