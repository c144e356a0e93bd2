import type { ExitFact } from '../../history/facts.ts';
import type { RecordedHistory, Stamped } from '../../history/history.ts';
import { deliveredUntilMs } from '../replay/delivery-deadline.ts';
import type { AllocationStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I52: an allocation that ran, and whose record was to be kept, never leaves the store without its outcome. I23: the end of a job
 * that a client was told is the one that the store holds when the quiet time is over.
 */
export function checkOutcomes(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  for (const story of run.allocations.values()) checkKept(story, run, findings);
  const untilMs = deliveredUntilMs(history);
  for (const told of history.exits) checkReportedExit(told, untilMs, run, findings);
}

function checkReportedExit(
  told: Stamped<ExitFact>,
  untilMs: number,
  run: RunIndex,
  findings: Findings,
): void {
  const { client, exit } = told.fact;
  if (exit.allocation === null) return;
  const outcome = run.outcomes.get(exit.allocation);
  if (outcome === undefined) {
    if (isKept(run.allocations.get(exit.allocation)) && told.atMs <= untilMs)
      findings.prove(
        'I23',
        exit.allocation,
        `${client} was told ${exit.state}, and the store has no end of it`,
        [told],
      );
    return;
  }
  // Its host may have been declared lost between its report and the release.
  if (outcome.fact.state === 'lost') return;
  const { state, exit: status = null } = outcome.fact;
  if (state !== exit.state || JSON.stringify(status) !== JSON.stringify(exit.exit))
    findings.prove('I23', exit.allocation, `${client} was told ${exit.state}, and it was ${state}`, [
      told,
      outcome,
    ]);
}

/** Its outcome is to be kept: it was not removed with its job, nor lost with the store. */
function isKept(story: AllocationStory | undefined): boolean {
  return story === undefined || (story.desired !== 'remove' && story.lost === null);
}

function checkKept(story: AllocationStory, run: RunIndex, findings: Findings): void {
  const { allocation, deleted, outcome, desired } = story;
  if (deleted === null || outcome !== null || desired === 'remove') return;
  const ran = run.processesOf.get(allocation.id)?.find(({ started }) => started.seq < deleted.seq);
  if (ran !== undefined)
    findings.prove('I52', allocation.id, 'it ran, and left the store without an outcome', [
      ran.started,
      deleted,
    ]);
}
