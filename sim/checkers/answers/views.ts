import type { AllocationReport } from '../../../src/core/host/report.ts';
import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import type { SeenHost, ViewFact } from '../../history/facts.ts';
import type { RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** Three lost beats and some: a host whose agent has been dead this long must be shown as stale (I51). */
const SILENT_MS = 6_000;

/**
 * I50: what a monitor shows of a host never goes back. I51: a host whose reports stopped is shown as stale since then, with its last
 * reports; never absent, never empty. I48: after the quiet period all views are equal, and equal to the hosts.
 */
export function checkViews(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const last = new Map<string, { readonly seen: SeenHost; readonly at: Stamp }>();
  const dead = deadSince(history);
  for (const view of history.views) {
    for (const seen of view.fact.hosts) {
      const key = `${view.fact.monitor}#${String(view.fact.instance)} ${seen.host}`;
      const before = last.get(key);
      if (before !== undefined) checkForward(view, before.seen, seen, before.at, findings);
      last.set(key, { seen, at: view });
      checkSilent(view, seen, dead, findings);
    }
  }
  checkEqual(history, run, findings);
}

function checkForward(
  view: Stamped<ViewFact>,
  before: SeenHost,
  now: SeenHost,
  beforeAt: Stamp,
  findings: Findings,
): void {
  const subject = `${view.fact.monitor} of ${now.host}`;
  const older =
    now.incarnation < before.incarnation || (now.incarnation === before.incarnation && now.seq < before.seq);
  if (older)
    findings.prove('I50', subject, `went from ${markOf(before)} back to ${markOf(now)}`, [beforeAt, view]);
  const isSame = now.incarnation === before.incarnation && now.seq === before.seq;
  if (isSame && now.reports.length < before.reports.length)
    findings.prove('I51', subject, `forgot what it knew at ${markOf(now)}`, [beforeAt, view]);
}

/** From when on each agent has been dead or paused, without a break until the time of asking. */
function deadSince(history: RecordedHistory): (host: string, at: Stamp) => number | null {
  const lives = new Map<string, { readonly seq: number; readonly atMs: number; readonly dead: boolean }[]>();
  for (const { seq, atMs, fact } of history.actors) {
    if (fact.role !== 'agent') continue;
    const dead = fact.change !== 'started' && fact.change !== 'resumed';
    const list = lives.get(fact.actor);
    if (list === undefined) lives.set(fact.actor, [{ seq, atMs, dead }]);
    else list.push({ seq, atMs, dead });
  }
  return (host, at) => {
    let since: number | null = null;
    for (const change of lives.get(host) ?? []) {
      if (change.seq > at.seq) break;
      if (!change.dead) since = null;
      else since ??= change.atMs;
    }
    return since;
  };
}

function checkSilent(
  view: Stamped<ViewFact>,
  seen: SeenHost,
  dead: (host: string, at: Stamp) => number | null,
  findings: Findings,
): void {
  if (seen.staleSinceMs !== null || seen.asOfMs === null) return;
  const sinceMs = dead(seen.host, view);
  if (sinceMs !== null && view.atMs - sinceMs > SILENT_MS)
    findings.prove(
      'I51',
      `${view.fact.monitor} of ${seen.host}`,
      `shown as current, ${((view.atMs - sinceMs) / 1000).toFixed(1)} s after its agent's end`,
      [view],
    );
}

/** Compares the last view of each monitor with the last listing of each host, both taken at the end. */
function checkEqual(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  if (run.quietFrom === null) return;
  const truths = new Map<string, string>();
  for (const { seq, fact } of history.listings)
    if (seq > run.quietFrom.seq) truths.set(fact.host, digestOf(fact.incarnation, fact.reports));
  const toldSeq = history.listings.findLast(({ seq }) => seq > (run.quietFrom?.seq ?? 0))?.seq ?? Infinity;
  const views = new Map<string, Stamped<ViewFact>>();
  for (const view of history.views) if (view.seq > toldSeq) views.set(view.fact.monitor, view);
  for (const view of views.values()) {
    if (!view.fact.complete)
      findings.prove('I48', view.fact.monitor, 'its view is not complete after the quiet period', [view]);
    const shown = new Map(view.fact.hosts.map((host) => [host.host, host]));
    for (const [host, truth] of truths) {
      const seen = shown.get(host);
      const subject = `${view.fact.monitor} of ${host}`;
      if (seen === undefined) findings.prove('I48', subject, 'the host is absent', [view]);
      else if (digestOf(seen.incarnation, seen.reports) !== truth)
        findings.prove('I48', subject, 'it shows another state than the host itself', [view]);
    }
  }
}

function digestOf(incarnation: number, reports: readonly AllocationReport[]): string {
  const sorted = [...reports].sort((a, b) => (a.id < b.id ? -1 : 1));
  return canonicalJson({ incarnation, reports: sorted });
}

function markOf({ incarnation, seq }: SeenHost): string {
  return `${String(incarnation)}/${String(seq)}`;
}
