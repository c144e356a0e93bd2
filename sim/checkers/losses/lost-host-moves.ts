import { isAdopted } from '../../../src/core/cell/allocation.ts';
import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import { hasBrought } from '../../../src/core/cell/volume.ts';
import type { Group, JobRecord } from '../../../src/core/cell/job.ts';
import { keepsReturned } from '../../../src/core/slots/duplicates.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import type { NemesisFact } from '../../history/facts.ts';
import type { Stamp, Stamped } from '../../history/history.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import { feasibleHost } from '../liveness/feasible.ts';
import { outstandingGrantsIn } from '../liveness/outstanding-grants.ts';
import type { AllocationStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** From the declaration of loss to the order to stop, and from that to the successor where there is capacity (I10). */
const DUE_MS = 5_000;

interface Vacancy {
  readonly story: AllocationStory;
  readonly at: Stamp;
}

/**
 * S0.1: what a lost host held is moved where its job asks for it (`reschedule.onHostLost`), soon, and nowhere else. Times are
 * asked for only where no other fault got in between; what becomes of the old ones when the host is back, I15 and I55 say.
 */
export class LostHostMoveChecker {
  readonly #faults: readonly Stamped<NemesisFact>[];
  /** Lost hosts that were not checked yet, since when. */
  readonly #lost = new Map<string, Stamp & { readonly dueAtMs: number }>();
  readonly #vacant: Vacancy[] = [];

  constructor(faults: readonly Stamped<NemesisFact>[]) {
    this.#faults = faults;
  }

  /** After `run` has taken the step. @param alive hosts whose session is there */
  check(
    step: Step,
    cell: CellAt,
    at: Stamp,
    { run, alive }: { readonly run: RunIndex; readonly alive: ReadonlySet<string> },
    findings: Findings,
  ): void {
    if (step.initial) {
      this.#lost.clear();
      this.#vacant.length = 0;
      return;
    }
    for (const { name, before, after } of step.changed.eligibility)
      if (after?.state !== 'lost') this.#lost.delete(name);
      else if (before?.state !== 'lost')
        this.#lost.set(name, { seq: at.seq, atMs: at.atMs, dueAtMs: at.atMs + DUE_MS + budgetMs(cell) });
    for (const { before, after } of step.changed.allocations)
      if (before?.desired === 'run' && after !== undefined && after.desired !== 'run')
        this.#checkMoved(after, step, at, run, findings);
    for (const [host, since] of this.#lost)
      if (at.atMs >= since.dueAtMs) {
        this.#lost.delete(host);
        if (!this.#isDisturbed(host, since, at)) checkKept(host, since, cell, step, findings);
      }
    this.#checkVacant(cell, at, run, alive, findings);
  }

  /** An allocation that is stopped because its host is lost: its job must ask for that. */
  #checkMoved(allocation: Allocation, step: Step, at: Stamp, run: RunIndex, findings: Findings): void {
    if (allocation.cause !== CAUSES.hostLost) return;
    const { namespace, job, group: name, id, host } = allocation;
    const versions = run.jobs.get(jobKeyOf(namespace, job)) ?? [];
    // The scheduler may not know of the newest version yet.
    if (!versions.some(({ fact }) => fact?.job.groups[name]?.reschedule.onHostLost === true))
      findings.add(
        'S0.1',
        step.revision,
        id,
        `moved from ${host}, which is lost, though its job does not ask for it`,
      );
    const story = run.allocations.get(id);
    if (story !== undefined) this.#vacant.push({ story, at: { seq: at.seq, atMs: at.atMs } });
  }

  #checkVacant(
    cell: CellAt,
    now: Stamp,
    run: RunIndex,
    alive: ReadonlySet<string>,
    findings: Findings,
  ): void {
    for (const vacancy of [...this.#vacant]) {
      const { story, at } = vacancy;
      if (at.seq === now.seq) continue;
      const free = hostForSuccessor(story, at, cell, run, alive);
      const isDue = now.atMs >= at.atMs + DUE_MS;
      if (free !== null && !isDue) continue;
      this.#vacant.splice(this.#vacant.indexOf(vacancy), 1);
      if (free === null || this.#isDisturbed(story.allocation.host, at, now)) continue;
      const text = `its host ${story.allocation.host} is lost, and nothing took its place though ${free} has capacity`;
      findings.prove('I10', story.allocation.id, text, [story.created, at, now]);
    }
  }

  /** Did anything but the loss itself happen meanwhile? */
  #isDisturbed(host: string, from: Stamp, to: Stamp): boolean {
    const open = new Set<number>();
    for (const { seq, fact } of this.#faults) {
      if (seq > to.seq) break;
      if (fact.targets.length === 1 && fact.targets[0] === host) continue;
      if (fact.phase === 'begin') open.add(fact.fault);
      else if (seq < from.seq) open.delete(fact.fault);
    }
    return open.size > 0;
  }
}

/** Until the budgets of replacements have had tokens for everything that runs. */
function budgetMs({ allocations, budgets }: CellAt): number {
  const rule = budgets.get('')?.replacements;
  const perHour = Math.min(rule?.perHour ?? Infinity, rule?.per?.perHour ?? Infinity);
  return (allocations.size * 2 * 3_600_000) / perHour;
}

/** Long after the host was declared lost, nothing that was there before and asks to be moved is to run there. */
function checkKept(
  host: string,
  since: Stamp & { readonly dueAtMs: number },
  cell: CellAt,
  step: Step,
  findings: Findings,
): void {
  for (const allocation of cell.allocations.values()) {
    if (allocation.host !== host || allocation.desired !== 'run' || isAdopted(allocation)) continue;
    const found = groupIn(allocation, cell);
    if (found === null || !found.group.reschedule.onHostLost || found.record.job.type === 'system') continue;
    if (keepsReturned(found.group) || found.group.fences !== undefined) continue;
    const text = `still has desired state run on ${host}, lost for ${String(since.dueAtMs - since.atMs)} ms, though its job asks to be moved`;
    findings.add('S0.1', step.revision, allocation.id, text, [since]);
  }
}

/**
 * A host with capacity for the successor, if there is to be one: the slot is empty since, its job is unchanged, nothing of it ended or
 * failed by itself (a delay would follow), and the job does not wait for the lost host.
 */
function hostForSuccessor(
  { allocation, slot }: AllocationStory,
  since: Stamp,
  cell: CellAt,
  run: RunIndex,
  alive: ReadonlySet<string>,
): string | null {
  const found = groupIn(allocation, cell);
  if (found === null || cell.eligibility.get(allocation.host)?.state !== 'lost') return null;
  const { record, group } = found;
  if (group.stopAfterDisconnectMs !== undefined || group.fences !== undefined || hasBrought(allocation))
    return null;
  if (group.parallelism !== null) return null;
  if (record.version !== allocation.jobVersion || allocation.index >= group.count) return null;
  for (const story of run.allocations.values())
    if (story.slot === slot && story.created.seq > since.seq) return null;
  for (const { fact } of run.outcomes.values())
    if (fact.group === allocation.group && fact.index === allocation.index)
      if (jobKeyOf(fact.namespace, fact.job) === jobKeyOf(allocation.namespace, allocation.job)) return null;
  return feasibleHost(
    cell,
    record,
    group,
    alive,
    outstandingGrantsIn(allocation.namespace, cell, run, since.atMs),
  );
}

function groupIn(
  { namespace, job, group: name }: Allocation,
  cell: CellAt,
): { readonly record: JobRecord; readonly group: Group } | null {
  const record = cell.jobs.get(jobKeyOf(namespace, job));
  const group = record?.job.groups[name];
  return record?.desired === 'run' && group !== undefined ? { record, group } : null;
}
