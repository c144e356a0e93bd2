import type { AllocationReport } from '../../../src/core/host/report.ts';
import { isTerminal } from '../../../src/core/host/states.ts';
import type { ListingFact } from '../../history/facts.ts';
import type { RecordedHistory, Stamped } from '../../history/history.ts';
import type { ProcessStory, RunIndex } from '../replay/run-index.ts';
import { pushTo } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** An agent knows of what happened on its host this long ago, also when the agent was started meanwhile. */
const NOTICE_MS = 2_000;

/**
 * I27 and I33: an agent's listing against its kernel: every living task is adopted, every end is reported, and no task of an earlier
 * boot is reported as running.
 */
export function checkAdoptions(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  if (history.listings.length === 0) return;
  const byHost = new Map<string, ProcessStory[]>();
  for (const process of run.processes) pushTo(byHost, process.host, process);
  for (const listing of history.listings)
    checkListing(listing, byHost.get(listing.fact.host) ?? [], findings);
}

function checkListing(
  listing: Stamped<ListingFact>,
  processes: readonly ProcessStory[],
  findings: Findings,
): void {
  const { host, reports } = listing.fact;
  const listed = new Map(reports.map((report) => [report.id, report]));
  const live = new Map<string, ProcessStory>();
  const ended = new Map<string, ProcessStory>();
  for (const process of processes) {
    if (process.started.atMs > listing.atMs - NOTICE_MS) {
      // A process that has just been started may be known or not; either way the task is not over.
      live.set(process.allocation, process);
      continue;
    }
    const isOver = process.ended !== null && process.ended.seq < listing.seq;
    if (!isOver) live.set(process.allocation, process);
    else ended.set(process.allocation, process);
  }
  for (const [id, process] of live) {
    if (process.started.atMs > listing.atMs - NOTICE_MS) continue;
    const report = listed.get(id);
    if (report === undefined || isTerminal(report.state))
      findings.prove('I27', id, `lives on ${host}, whose agent reports ${stateOf(report)}`, [
        process.started,
        listing,
      ]);
  }
  for (const [id, process] of ended)
    checkOver(id, process, { listing, report: listed.get(id) }, live, findings);
}

function checkOver(
  id: string,
  process: ProcessStory,
  said: { readonly listing: Stamped<ListingFact>; readonly report: AllocationReport | undefined },
  live: ReadonlyMap<string, ProcessStory>,
  findings: Findings,
): void {
  const { listing, report } = said;
  if (process.ended === null || live.has(id) || report === undefined) return;
  if (process.ended.atMs > listing.atMs - NOTICE_MS) return;
  const pids = Object.values(report.tasks).map((task) => (task.state === 'running' ? task.pid : undefined));
  if (!pids.includes(process.process.pid)) return;
  const reboot = process.ended.fact.lost === 'host-reboot';
  findings.prove(
    reboot ? 'I33' : 'I27',
    id,
    `is reported to run as ${String(process.process.pid)} on ${process.host}, and ended before`,
    [process.started, process.ended, listing],
  );
}

function stateOf(report: AllocationReport | undefined): string {
  return report === undefined ? 'nothing of it' : `it as ${report.state}`;
}
