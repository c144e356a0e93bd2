import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import { GIVEN_UP } from '../../src/core/slots/given-up.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
import { monitorRank } from '../view/rank.ts';
import type { HostOrders } from './host-orders.ts';
import type { LeftoversDeps } from './leftovers.ts';

/** Hosts looked at in one sweep; the next sweep continues with the next ones. */
const HOSTS_PER_SWEEP = 1_000;

/**
 * Stops what hosts bring back that was given up meanwhile: its capacity was given to another allocation, and perhaps its slot.
 * The durable outcome stops it, not the absence of its record, whoever owns its job.
 */
export class Returned {
  readonly #deps: LeftoversDeps;
  readonly #orders: HostOrders;
  #hosts: Iterator<string> | null = null;

  constructor(deps: LeftoversDeps, orders: HostOrders) {
    this.#deps = deps;
    this.#orders = orders;
  }

  /** Never rejects: what fails is tried again in a later sweep. */
  async sweep(): Promise<void> {
    const { copy, view, log } = this.#deps;
    for (let count = 0; count < HOSTS_PER_SWEEP; count++) {
      this.#hosts ??= copy.hosts.names();
      const next = this.#hosts.next();
      if (next.done === true) {
        this.#hosts = null;
        return;
      }
      if (!isReporting(view, next.value) || monitorRank(this.#deps, next.value) !== 0) continue;
      // Nearly all that is reported has a record, and is found by its id alone.
      const recorded = copy.allocationsByHost.of(next.value);
      const over = [...view.on(next.value)].filter(
        (report) => !recorded.has(report.id) && this.#isGivenUp(report),
      );
      try {
        for (const report of over) await this.#stop(report);
      } catch (error) {
        log.debug({ host: next.value, error }, 'what a host brought back still runs; it is tried again');
      }
    }
  }

  #isGivenUp({ namespace, job, id, state, host }: AllocationReport): boolean {
    if (OBSERVED_RANK[state] >= OBSERVED_RANK.stopping) return false;
    const { copy } = this.#deps;
    const name = `${jobKeyOf(namespace, job)}/${id}`;
    if (copy.allocations.has(name)) return false;
    const outcome = copy.outcomes.get(name)?.value;
    return outcome?.exit?.lost === GIVEN_UP && outcome.host === host;
  }

  async #stop({ id, host }: AllocationReport): Promise<void> {
    await this.#orders.stop(
      { id, host, epoch: null },
      'stop',
      'its place was given up while its host was lost',
    );
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'returned' });
  }
}
