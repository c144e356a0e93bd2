import type { Endpoint } from '../../../src/core/names/endpoints.ts';
import type { NameFact } from '../../history/facts.ts';
import type { RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import { DisturbedTimes } from '../replay/disturbed-times.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * What ends is out of its name with its report's way; what a silent host has is told as stale after 3 s without a beat, and goes
 * when the host is declared lost (`docs/names.md`). And a second for the ways.
 */
const BOUND_MS = 4_000;
/** It counts as running when its shim has it, a little before the command is executed. */
const BEGINNING_MS = 500;
/** A reader whose monitor is silent goes to another one after 9 s, and a fault may leave that behind. */
const HEALED_MS = 15_000;

/**
 * I69: where no fault gets between, no host knows an endpoint of an instance whose process has ended, whose end was ordered, or whose host is
 * lost, longer than `BOUND_MS` after that.
 */
export function checkNames(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const disturbed = new DisturbedTimes(history);
  const told = new Set<string>();
  for (const at of history.names)
    for (const endpoint of at.fact.endpoints) {
      const name = `${at.fact.host} ${endpoint.allocation}`;
      if (told.has(name)) continue;
      // What ails the instance's own host is what names are to show.
      if (
        disturbed.between(at.atMs - HEALED_MS, at.atMs, endpoint.host === at.fact.host ? null : endpoint.host)
      )
        continue;
      const wrong = wrongIn(endpoint, at, run);
      if (wrong === null) continue;
      told.add(name);
      const text = `${at.fact.name} has its endpoint on ${at.fact.host}, and ${wrong.why}`;
      findings.prove('I69', endpoint.allocation, text, [wrong.since, at]);
    }
}

/** @returns what has been so for too long; null: nothing */
function wrongIn(
  endpoint: Endpoint,
  at: Stamped<NameFact>,
  run: RunIndex,
): { readonly why: string; readonly since: Stamp } | null {
  const before = at.atMs - BOUND_MS;
  const lost = lostSince(endpoint.host, at, run);
  if (lost !== null && lost.atMs < before) return { why: 'its host is lost', since: lost };
  // Told as old: nobody takes it for the truth.
  if (at.fact.isStale || endpoint.staleSinceMs !== undefined) return null;
  const story = run.allocations.get(endpoint.allocation);
  if (story === undefined) return { why: 'nothing of this id was ever placed', since: at };
  if (story.unwanted !== null && story.unwanted.atMs < before)
    return { why: 'its end was ordered', since: story.unwanted };
  let last: Stamp = story.created;
  for (const { started, ended } of run.processesOf.get(endpoint.allocation) ?? []) {
    if (started.atMs > at.atMs + BEGINNING_MS) break;
    if (ended === null || ended.atMs > at.atMs) return null;
    last = ended;
  }
  return last.atMs < before ? { why: 'no process of it lives', since: last } : null;
}

function lostSince(host: string, at: Stamp, run: RunIndex): Stamp | null {
  let since: Stamp | null = null;
  for (const { seq, atMs, fact } of run.eligibility.get(host) ?? []) {
    if (seq > at.seq) break;
    if (fact?.state !== 'lost') since = null;
    else since ??= { seq, atMs };
  }
  return since;
}
