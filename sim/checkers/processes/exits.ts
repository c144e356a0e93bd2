import type { Exit } from '../../../src/core/cell/allocation.ts';
import type { AllocationReport } from '../../../src/core/host/report.ts';
import type { RecordedHistory, Stamp } from '../../history/history.ts';
import type { ProcessStory, RunIndex } from '../replay/run-index.ts';
import { processName } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I23: the exit in outcomes and reports is the wait status of the process. I26: no process ends by a signal that its host did not
 * send.
 */
export function checkExits(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  checkTwice(history, findings);
  for (const [id, { seq, atMs, fact }] of run.outcomes)
    if (fact.exit !== undefined) checkExit(id, fact.exit, { seq, atMs }, run, findings);
  const seen = new Set<string>();
  for (const view of [...history.views, ...history.listings])
    for (const report of reportsOf(view.fact)) {
      if (report.exit === undefined || seen.has(report.id)) continue;
      seen.add(report.id);
      checkExit(report.id, report.exit, view, run, findings);
    }
  checkUnsent(history, run, findings);
}

function* reportsOf(
  fact: RecordedHistory['views'][number]['fact'] | RecordedHistory['listings'][number]['fact'],
): IterableIterator<AllocationReport> {
  if ('reports' in fact) yield* fact.reports;
  else for (const host of fact.hosts) yield* host.reports;
}

function checkTwice(history: RecordedHistory, findings: Findings): void {
  const ends = new Map<string, Stamp>();
  for (const { seq, atMs, fact } of history.hosts) {
    if (fact.kind !== 'ended') continue;
    const name = processName(fact.host, fact.process);
    const earlier = ends.get(name);
    if (earlier !== undefined)
      findings.prove('I23', fact.attempt, 'its process ended twice', [earlier, { seq, atMs }]);
    ends.set(name, { seq, atMs });
  }
}

function checkExit(id: string, exit: Exit, at: Stamp, run: RunIndex, findings: Findings): void {
  const processes = run.processesOf.get(id) ?? [];
  const facts = factsOf(processes, at);
  if (exit.lost !== undefined) {
    const wrong = wrongLoss(exit.lost, processes, at, run);
    if (wrong !== null) findings.prove('I23', id, `reported as lost (${exit.lost}): ${wrong}`, facts);
    return;
  }
  // Its command could not be executed at all: the shim reports that with a code of its own.
  if (processes.length === 0) return;
  const last = new Map<string, ProcessStory>();
  for (const process of processes) if (process.started.seq < at.seq) last.set(process.task, process);
  const ends = [...last.values()].map(({ ended }) => ended?.fact ?? null);
  const isTrue = ends.some((end) => end?.code === exit.code && end?.signal === exit.signal);
  if (!isTrue)
    findings.prove(
      'I23',
      id,
      `reported to have ended with ${wordsOf(exit)}, was ${ends.map(wordsOf).join(', ')}`,
      facts,
    );
}

function wrongLoss(why: string, processes: readonly ProcessStory[], at: Stamp, run: RunIndex): string | null {
  const [first] = processes.filter(({ started }) => started.seq < at.seq);
  if (first === undefined) return null;
  if (why === 'never-started') return 'its command was started';
  if (why !== 'host-reboot') return null;
  // Power may have been lost between two of its restarts, when nothing of it ran.
  const outages = run.outages.get(first.host) ?? [];
  const rebooted = outages.some(({ seq }) => seq > first.started.seq && seq < at.seq);
  return rebooted ? null : 'its host did not reboot';
}

function checkUnsent(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const sent = new Map<string, Stamp>();
  for (const { seq, atMs, fact } of history.hosts)
    if (fact.kind === 'signalled') sent.set(processName(fact.host, fact.process), { seq, atMs });
  for (const { host, process, attempt, started, ended } of run.processes) {
    const signal = ended?.fact.signal;
    if (signal === undefined || ended === null || sent.has(processName(host, process))) continue;
    findings.prove('I26', attempt, `was ended by ${signal}, which was not sent`, [started, ended]);
  }
}

function factsOf(processes: readonly ProcessStory[], at: Stamp): [Stamp, ...Stamp[]] {
  const facts = processes.flatMap(({ started, ended }) => (ended === null ? [started] : [started, ended]));
  return [...facts, at] as unknown as [Stamp, ...Stamp[]];
}

function wordsOf(exit: Exit | null): string {
  if (exit === null) return 'still running';
  if (exit.code !== undefined) return `code ${String(exit.code)}`;
  return exit.signal ?? `lost (${exit.lost ?? ''})`;
}
