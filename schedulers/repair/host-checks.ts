import type { HostClient } from '../../src/clients/host-client.ts';
import type { Host } from '../../src/core/host/host.ts';
import { forgottenOutcome } from '../../src/core/slots/outcomes.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Term } from '../state/state.ts';
import { isCurrent, wallMs } from '../state/state.ts';
import { isCallError } from '../hosts/hosts.ts';
import type { OwnEntry } from '../state/job-table.ts';
import type { Releaser } from '../commit/releaser.ts';

/** Hosts asked in one sweep: half as many as can be asked at once, so that searches can ask beside them. */
const HOSTS_MAX = 64;

/**
 * Asks hosts what became of allocations that they accepted and that the monitors' view does not show. One list serves all of
 * a host, which is not asked again before it has answered; what the list lacks is asked for by id, since absence is no
 * evidence. A check never waits for other calls: the next sweep makes it.
 */
export class HostChecks {
  readonly #term: Term;
  readonly #releaser: Releaser;
  readonly #open = new Set<string>();
  /** In which sweep each host was last asked, of the hosts in the last sweep. */
  #askedIn = new Map<string, number>();
  #sweeps = 0;

  constructor(term: Term, releaser: Releaser) {
    this.#term = term;
    this.#releaser = releaser;
  }

  /** Called once in each sweep. @param unseen allocations that are not shown now */
  sweep(unseen: Iterable<OwnEntry>): void {
    const byHost = new Map<string, OwnEntry[]>();
    for (const own of unseen) {
      const { host } = own.entry.allocation;
      const list = byHost.get(host);
      if (list === undefined) byHost.set(host, [own]);
      else list.push(own);
    }
    this.#sweeps += 1;
    const askedIn = new Map<string, number>();
    for (const host of byHost.keys()) askedIn.set(host, this.#askedIn.get(host) ?? 0);
    this.#askedIn = askedIn;
    // First the hosts that were not asked for the longest time.
    const due = [...byHost].sort(([a], [b]) => (askedIn.get(a) ?? 0) - (askedIn.get(b) ?? 0));
    let asked = 0;
    for (const [host, list] of due)
      if (asked < HOSTS_MAX && this.#ask(host, list)) {
        askedIn.set(host, this.#sweeps);
        asked += 1;
      }
  }

  /** @returns false: not now */
  #ask(id: string, unseen: readonly OwnEntry[]): boolean {
    const { cell, hostCalls, hosts } = this.#term;
    const host = cell.state.hostOf(id);
    if (host === undefined || this.#open.has(id)) return false;
    const listing = hostCalls.askNow(id, (address) => hosts.list(address));
    if (listing === null) return false;
    this.#open.add(id);
    void this.#answered(host, unseen, listing).finally(() => this.#open.delete(id));
    return true;
  }

  async #answered(
    host: Host,
    unseen: readonly OwnEntry[],
    listing: ReturnType<HostClient['list']>,
  ): Promise<void> {
    const { hostCalls, hosts, world } = this.#term;
    try {
      const reports = new Map((await listing).allocations.map((report) => [report.id, report]));
      for (const own of unseen) {
        if (!this.#isWaiting(own)) continue;
        const { id } = own.entry.allocation;
        const isWanted = (): boolean => this.#isWaiting(own);
        const report =
          reports.get(id) ?? (await hostCalls.ask(host.id, isWanted, (address) => hosts.get(address, id)));
        if (report !== undefined && this.#isWaiting(own)) this.#checked(own, report);
      }
    } catch (error) {
      if (!isCallError(error)) throw error;
      world.log.debug({ host: host.id, error }, 'a host did not say what became of its allocations');
    }
  }

  #isWaiting({ job, entry }: OwnEntry): boolean {
    return isCurrent(this.#term, job, entry) && !entry.releasing && !entry.marking;
  }

  #checked({ job, entry }: OwnEntry, report: AllocationReport | null): void {
    if (report !== null) {
      this.#term.report(report);
      return;
    }
    const outcome = forgottenOutcome(entry.allocation, 'host-forgot', wallMs(this.#term.world));
    this.#releaser.release(job, entry, outcome);
  }
}
