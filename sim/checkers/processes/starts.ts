import type { Group } from '../../../src/core/cell/job.ts';
import { keepsReturned } from '../../../src/core/slots/duplicates.ts';
import type { AllocationStory, ProcessStory, RunIndex } from '../replay/run-index.ts';
import { pushTo } from '../replay/run-index.ts';
import type { Stamp } from '../../history/history.ts';
import type { Findings } from '../replay/violations.ts';

/** A host decides a restart by its own clock some time before the process is there. */
const WINDOW_SLACK_MS = 2_000;

/**
 * I21 and I22: the command of a job runs as often as its policies allow and not once more. On one host by the restart
 * policy; over hosts, for jobs that come to an end, by the reschedule policy. An allocation that the system ended (an
 * update, a drain, a preemption), or that a lost host had of a job that may run twice, is not counted (S0.21).
 *
 * I6: no member of a gang runs while the gang is only reserved.
 */
export function checkStarts(run: RunIndex, findings: Findings): void {
  const slots = new Map<string, AllocationStory[]>();
  for (const [id, processes] of run.processesOf) {
    const story = run.allocations.get(id);
    if (story === undefined) continue;
    pushTo(slots, story.slot, story);
    checkReserved(story, processes, findings);
    const group = run.groupOf(story.allocation);
    if (group !== undefined) checkRestarts(story, group, processes, findings);
  }
  for (const [slot, stories] of slots) checkSlot(slot, stories, run, findings);
}

function checkReserved(
  { allocation, created, effective }: AllocationStory,
  processes: readonly ProcessStory[],
  findings: Findings,
): void {
  for (const { started } of processes) {
    if (effective !== null && effective.seq <= started.seq) continue;
    findings.prove('I6', allocation.id, 'runs while its gang is only reserved', [created, started]);
  }
}

function checkRestarts(
  story: AllocationStory,
  group: Group,
  processes: readonly ProcessStory[],
  findings: Findings,
): void {
  const { attempts, windowMs, on } = group.restart;
  const allowed = on === 'never' ? 0 : attempts;
  const restarts = new Map<string, ProcessStory[]>();
  for (const process of processes) if (process.number > 1) pushTo(restarts, process.task, process);
  for (const [task, list] of restarts) {
    for (const [i, last] of list.entries()) {
      const first = list[i - allowed];
      const isTooMany =
        allowed === 0 ||
        (first !== undefined && last.started.atMs - first.started.atMs < windowMs - WINDOW_SLACK_MS);
      if (!isTooMany) continue;
      const facts: [Stamp, ...Stamp[]] = [(first ?? last).started, last.started];
      findings.prove(
        allowed === 0 ? 'I21' : 'I22',
        story.allocation.id,
        `task ${task} was started again, more than ${String(allowed)} times in ${String(windowMs)} ms`,
        facts,
      );
      break;
    }
  }
}

function checkSlot(
  slot: string,
  stories: readonly AllocationStory[],
  run: RunIndex,
  findings: Findings,
): void {
  const [first] = stories;
  const job = first === undefined ? null : run.jobOf(first.allocation);
  const group = job?.groups[first?.allocation.group ?? ''];
  if (job?.type !== 'batch' || group === undefined || group.reschedule.attempts === null) return;
  // What a lost host held and what took its place both count as wanted until one of them is kept.
  if (keepsReturned(group)) return;
  // Each version of the spec is counted by itself.
  const versions = new Set(stories.map(({ allocation }) => allocation.jobVersion));
  if (versions.size > 1) return;
  const { attempts, onHostLost } = group.reschedule;
  const lostCounts = attempts === 0 && !onHostLost;
  const counted = stories.filter((story) => isAttempt(story, lostCounts));
  if (counted.length <= attempts + 1) return;
  const starts = counted.map(({ allocation }) => run.processesOf.get(allocation.id)?.[0]?.started);
  findings.prove(
    attempts === 0 ? 'I21' : 'I22',
    slot,
    `${String(counted.length)} of its allocations were started, ${String(attempts + 1)} may be`,
    starts.filter((start) => start !== undefined) as unknown as [Stamp, ...Stamp[]],
  );
}

function isAttempt({ outcome, unwanted, allocation }: AllocationStory, lostCounts: boolean): boolean {
  if (allocation.desired !== 'run' || unwanted !== null || outcome?.fact.cause !== undefined) return false;
  return lostCounts || outcome?.fact.state !== 'lost';
}
