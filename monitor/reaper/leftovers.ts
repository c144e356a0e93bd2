import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Release } from '../../src/core/commit/plan.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import { isFenced, SELF_FENCE } from '../../src/core/host/fences.ts';
import { hasBrought } from '../../src/core/cell/volume.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import { givenUpAtMs, givenUpOutcome } from '../../src/core/slots/given-up.ts';
import { forgottenOutcome, outcomeOf } from '../../src/core/slots/outcomes.ts';
import type { Budgets } from '../../src/runtime/records/budgets.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { allocationCodec } from '../../src/wire/records/records.ts';
import type { MonitorContext } from '../context.ts';
import type { Row } from '../view/record-cache.ts';
import type { ReaperLimits } from './reaper-limits.ts';
import type { HostOrders, HostOrdersDeps } from './host-orders.ts';

export interface LeftoversDeps extends MonitorContext, HostOrdersDeps {
  readonly view: CellView;
  readonly limits: ReaperLimits;
  /** The cell's budgets. Who waits is looked at again by the next sweep. */
  readonly budgets: Pick<Budgets, 'has' | 'ask'>;
  /** Commits releases: the record and the claim go, the outcome is written, in one transaction a host. */
  release(releases: readonly Release[]): Promise<unknown>;
}

/** Brings the allocations of jobs without an owner to their end, one step a sweep. */
export class Leftovers {
  readonly #deps: LeftoversDeps;
  readonly #orders: HostOrders;

  constructor(deps: LeftoversDeps, orders: HostOrders) {
    this.#deps = deps;
    this.#orders = orders;
  }

  /** @param hasRecord the job was stopped; false: its record is gone */
  async finish(jobKey: string, hasRecord: boolean): Promise<void> {
    const { copy } = this.#deps;
    // In a restored store the record may be lost, not deleted: absence stops nothing.
    const mayStop = hasRecord || copy.meta.get('')?.value.restoredAtMs === undefined;
    for (const row of copy.allocationsByJob.of(jobKey).values()) await this.#finish(row, mayStop);
  }

  async #finish(row: Row<Allocation>, mayStop: boolean): Promise<void> {
    const { value: allocation, modRevision: revision } = row;
    const { view, copy, clock, limits } = this.#deps;
    const report = view.get(allocation.host, allocation.id);
    if (report !== undefined && report.released && isTerminal(report.state))
      return this.#release({ allocation, revision, outcome: outcomeOf(allocation, report, clock.nowMs()) });
    const freshness = view.host(allocation.host);
    if (freshness === undefined || freshness.staleSinceMs !== null) {
      const atMs = givenUpAtMs(copy.eligibility.get(allocation.host)?.value, limits.orphanMs);
      if (atMs === null || clock.nowMs() < atMs || this.#awaitsFence(allocation)) return;
      if (!this.#canAfford(allocation)) return;
      const outcome = givenUpOutcome(allocation, report ?? null, clock.nowMs());
      const fenced = this.#isFenced(allocation) ? { isFenced: true as const } : {};
      return this.#release({ allocation, revision, outcome, ...fenced });
    }
    if (allocation.desired !== 'run') return this.#stopOnHost(row);
    if (mayStop) await this.#writeStop(row);
  }

  /** An operator's own word needs no token, nor what somebody answers for. */
  #canAfford(allocation: Allocation): boolean {
    const { copy, budgets } = this.#deps;
    const isConfirmed = copy.eligibility.get(allocation.host)?.value.confirmed !== undefined;
    if (isConfirmed || this.#isFenced(allocation) || budgets.has('orphans', allocation)) return true;
    return budgets.ask('orphans', allocation.id, [allocation]);
  }

  /** Its job may be submitted again, and must not find its slot free while this one may run. */
  #awaitsFence(allocation: Allocation): boolean {
    // Another host may have its data then: time is no proof for that.
    if (hasBrought(allocation)) return !this.#isFenced(allocation);
    const fences = this.#fencesOf(allocation);
    if (fences === undefined || fences.includes(SELF_FENCE)) return false;
    return !this.#isFenced(allocation);
  }

  #isFenced(allocation: Allocation): boolean {
    const verdict = this.#deps.copy.eligibility.get(allocation.host)?.value;
    return isFenced(verdict, this.#fencesOf(allocation) ?? [], allocation);
  }

  #fencesOf({ namespace, job, group }: Allocation): readonly string[] | undefined {
    return this.#deps.copy.jobs.get(jobKeyOf(namespace, job))?.value.job.groups[group]?.fences;
  }

  async #writeStop({ value, modRevision }: Row<Allocation>): Promise<void> {
    const { store, keys } = this.#deps;
    const key = keys.allocation(value.namespace, value.job, value.id);
    const wanted: Allocation = { ...value, desired: 'stop', cause: 'stopped by user' };
    await store.attempt({
      compares: [{ key, target: 'modRevision', equals: modRevision }],
      writes: [{ kind: 'put', key, value: allocationCodec.encode(wanted) }],
      readBack: [],
    });
    this.#count('stop');
  }

  async #stopOnHost({ value: allocation, modRevision: revision }: Row<Allocation>): Promise<void> {
    const mode = allocation.desired === 'run' ? 'stop' : allocation.desired;
    const answer = await this.#orders.stop(allocation, mode, allocation.cause ?? 'its job has no owner');
    if (answer?.kind !== 'absent') return;
    // The host never had it, and from now on refuses to start it.
    const outcome = forgottenOutcome(allocation, 'never-started', this.#deps.clock.nowMs());
    await this.#release({ allocation, revision, outcome });
  }

  async #release(release: Release): Promise<void> {
    await this.#deps.release([release]);
    this.#count('release');
  }

  #count(what: string): void {
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what });
  }
}
