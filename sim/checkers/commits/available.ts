import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { Group, JobRecord } from '../../../src/core/cell/job.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import { MIN_HEALTHY_MS } from '../../../src/core/slots/rollout.ts';
import { updatePolicyOf } from '../../../src/core/slots/update-policy.ts';
import type { Stamp } from '../../history/history.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { DisturbedTimes } from '../replay/disturbed-times.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** An end, or a beginning, of which a scheduler has not been told yet; the second where its host had a fault of late. */
const UNTOLD_MS = 3_000;
const UNTOLD_AFTER_FAULT_MS = 15_000;
/** From asking the store until the write has landed, when nothing is slow. */
const LATE_MS = 1_000;

/** Ends that are ours: the service would have gone on. */
const OURS = [CAUSES.version, CAUSES.draining, CAUSES.notMatching, CAUSES.moved];

/**
 * I63: an update, a drain, a change of constraints or a move stops nothing that serves when fewer would be left than the update policy says: `count`
 * less `parallelism`, or `count` with `start-first`. One of the newest version counts when it has run for `minHealthy`.
 */
export class AvailableChecker {
  /** Marked by a write that landed long after it was asked for: they run on until their scheduler hears of it. */
  readonly #late = new Set<string>();

  /** @param askedAtMs when the writer of the step asked for it; null: not known */
  check(
    step: Step,
    cell: CellAt,
    at: Stamp,
    { askedAtMs, ...known }: Known & { readonly askedAtMs: number | null },
    findings: Findings,
  ): void {
    const decided = { ...at, atMs: askedAtMs ?? at.atMs };
    const isLate = at.atMs - decided.atMs > LATE_MS;
    for (const { before, after } of step.changed.allocations) {
      if (before?.desired !== 'run' || after === undefined || after.desired === 'run') continue;
      if (!OURS.some((cause) => after.cause?.startsWith(cause) === true)) continue;
      const record = cell.jobs.get(jobKeyOf(after.namespace, after.job));
      const group = record?.job.groups[after.group];
      if (record?.desired !== 'run' || group === undefined || !isHeldTo(record, group, after, cell)) continue;
      if (!hasRunFor(after, untoldMs(after, at, known), decided, known.run, 0)) continue;
      const { strategy, parallelism } = updatePolicyOf(group);
      const least = group.count - (strategy === 'start-first' ? 0 : parallelism);
      const left = availableIn(record, group, cell, at, { ...known, late: this.#late });
      if (left >= least) continue;
      const text = `stopped (${after.cause ?? ''}) though ${String(left)} of at least ${String(least)} others are available`;
      findings.add('I63', step.revision, after.id, text);
    }
    if (isLate)
      for (const { after } of step.changed.allocations)
        if (after !== undefined && after.desired !== 'run') this.#late.add(after.id);
  }
}

function isHeldTo({ job }: JobRecord, group: Group, { host, index }: Allocation, cell: CellAt): boolean {
  if (job.type !== 'service' || group.gang || index >= group.count) return false;
  // At its deadline a drain takes all.
  return cell.eligibility.get(host)?.drainDeadlineMs === undefined;
}

interface Late {
  readonly late: ReadonlySet<string>;
}

interface Known {
  readonly run: RunIndex;
  readonly disturbed: DisturbedTimes;
}

function untoldMs({ host }: Allocation, { atMs }: Stamp, { disturbed }: Known): number {
  return disturbed.of(host, atMs - UNTOLD_AFTER_FAULT_MS, atMs) ? UNTOLD_AFTER_FAULT_MS : UNTOLD_MS;
}

function availableIn(record: JobRecord, group: Group, cell: CellAt, at: Stamp, known: Known & Late): number {
  const neededMs = group.minHealthyMs ?? MIN_HEALTHY_MS;
  let available = 0;
  for (const one of cell.allocations.values()) {
    if (one.namespace !== record.job.namespace || one.job !== record.job.name) continue;
    if (one.group !== group.name || (one.desired !== 'run' && !isServingOn(one, known, at))) continue;
    const isNewest = one.jobVersion === record.version;
    if (hasRunFor(one, isNewest ? neededMs : 0, at, known.run, untoldMs(one, at, known))) available += 1;
  }
  return available;
}

/** Marked by a late write, and not ordered to stop yet. */
function isServingOn({ id }: Allocation, { late, run }: Known & Late, at: Stamp): boolean {
  return (
    late.has(id) &&
    run.ordersOf.get(id)?.some(({ seq, order }) => order.kind === 'stop' && seq < at.seq) !== true
  );
}

/** Did it begin so long ago, and run until now, or until a little earlier, of which nobody may have been told? */
function hasRunFor({ id }: Allocation, ms: number, at: Stamp, run: RunIndex, untold: number): boolean {
  return (run.processesOf.get(id) ?? []).some(
    ({ started, ended }) => started.atMs <= at.atMs - ms && (ended?.atMs ?? Infinity) >= at.atMs - untold,
  );
}
