/**
 * Processes of tasks, as the kernels of their hosts saw them.
 *
 * - This file: one shim, one start and one process for an attempt (I13, I30).
 * - `starts.ts`: starts follow the restart and reschedule policy (I6, I21, I22); `starts-after-stop.ts`: nothing starts after an acknowledged stop (I8)
 * - `overlaps.ts`: two allocations of one slot at once (I14, I15); `data-holders.ts`: two with the same data (I73)
 * - `kill-causes.ts`: a task is killed only for a cause (I16); `exits.ts`: exits are reported as they were (I23, I26)
 * - `adoptions.ts`: a restarted agent finds its tasks (I27, I33)
 */
import type { RecordedHistory, Stamp } from '../../history/history.ts';
import type { AllocationStory, ProcessStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I13: each attempt is claimed and started once; a task runs in one process at a time, on the host to which its allocation was committed
 * before. I30: a signal reaches the processes of its own attempt only. I45: nothing starts after its release.
 */
export function checkProcesses(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const claims = new Map<string, Stamp>();
  for (const { seq, atMs, fact } of history.hosts) {
    const at = { seq, atMs };
    if (fact.kind === 'claimed') {
      const earlier = claims.get(`${fact.host} ${fact.attempt}`);
      if (earlier !== undefined)
        findings.prove('I13', fact.attempt, 'two shims have claimed it', [earlier, at]);
      claims.set(`${fact.host} ${fact.attempt}`, at);
    }
    if (fact.kind === 'signalled' && fact.owner !== fact.by)
      findings.prove(
        'I30',
        fact.by,
        `${fact.signal} for it reached process ${String(fact.process.pid)} of ${fact.owner ?? 'no attempt'}`,
        [at],
      );
  }
  for (const [id, processes] of run.processesOf) checkTree(id, processes, run.allocations.get(id), findings);
}

function checkTree(
  id: string,
  processes: readonly ProcessStory[],
  story: AllocationStory | undefined,
  findings: Findings,
): void {
  const [first] = processes;
  if (first === undefined) return;
  if (story === undefined || story.created.seq > first.started.seq)
    findings.prove('I13', id, `runs on ${first.host}, and was not committed`, [first.started]);
  const attempts = new Map<string, ProcessStory>();
  const lastOfTask = new Map<string, ProcessStory>();
  for (const process of processes) {
    const { host, attempt, started, task } = process;
    if (story !== undefined && story.allocation.host !== host)
      findings.prove('I13', id, `runs on ${host}, and was committed to ${story.allocation.host}`, [
        story.created,
        started,
      ]);
    const same = attempts.get(attempt);
    if (same !== undefined)
      findings.prove('I13', attempt, 'its command was started twice', [same.started, started]);
    attempts.set(attempt, process);
    const before = lastOfTask.get(task);
    if (before !== undefined && (before.ended === null || before.ended.seq > started.seq))
      findings.prove('I13', id, `task ${task} runs in two processes at once`, [before.started, started]);
    lastOfTask.set(task, process);
    if (story?.deleted != null && story.deleted.seq < started.seq)
      findings.prove('I45', id, 'it was started after its release', [story.deleted, started]);
  }
}
