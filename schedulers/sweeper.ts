import { forgottenOutcome } from '../src/core/outcome-of.ts';
import type { AllocationReport } from '../src/core/report.ts';
import type { Term } from './context.ts';
import { isCurrent } from './context.ts';
import type { JobBook } from './job-book.ts';
import type { Entry, OwnedJob } from './owned-job.ts';
import type { Parking } from './parking.ts';
import type { Releaser } from './releaser.ts';
import type { Reports } from './reports.ts';

/** The level-triggered repair: what a lost message left behind is found after this time. */
const SWEEP_MS = 5_000;
/** Every so many sweeps each job is looked at, whether or not anything told of it. */
const SWEEPS_PER_LOOK = 6;
/** Allocations asked about in one sweep, so that a silent monitor does not make us flood the hosts. */
const VERIFIES_MAX = 256;
/** A fresh allocation may take this long to show in the monitors' view before its host is asked. */
const SHOW_MS = 5_000;

export interface SweeperParts {
  readonly book: JobBook;
  readonly reports: Reports;
  readonly parking: Parking;
  readonly releaser: Releaser;
}

/** Looks at everything again from time to time, whatever was told. */
export class Sweeper {
  readonly #term: Term;
  readonly #parts: SweeperParts;
  #cancel: () => void = () => undefined;
  #sweeps = 0;

  constructor(term: Term, parts: SweeperParts) {
    this.#term = term;
    this.#parts = parts;
  }

  start(): void {
    this.#cancel = this.#term.world.clock.after(SWEEP_MS, () => {
      this.#sweep();
      if (!this.#term.signal.aborted) this.start();
    });
  }

  close(): void {
    this.#cancel();
  }

  #sweep(): void {
    const { book, parking, reports } = this.#parts;
    parking.repair();
    const nowMs = this.#term.world.clock.nowMs();
    reports.refresh();
    let verifies = 0;
    for (const { job, entry } of book.entries()) {
      const { host, id, createdAtMs } = entry.allocation;
      const report = reports.get(host, id);
      if (report !== undefined) this.#term.report(report);
      if (entry.report?.released === true) this.#term.look(job);
      const isShown = report !== undefined && reports.isHeard(host);
      // In either direction: what a clock dated far ahead before it was set back is not fresh.
      const isFresh = Math.abs(nowMs - createdAtMs) < SHOW_MS;
      if (entry.stage !== 'started' || entry.releasing || isShown || isFresh) continue;
      if (verifies++ < VERIFIES_MAX) void this.#check(job, entry);
    }
    this.#sweeps += 1;
    const isWhole = this.#sweeps % SWEEPS_PER_LOOK === 0;
    for (const job of book.jobs())
      if (isWhole || job.record.desired === 'stop' || job.again) this.#term.look(job);
  }

  /** The view does not show what the host accepted: asks the host itself. */
  async #check(job: OwnedJob, entry: Entry): Promise<void> {
    const { allocation } = entry;
    const { cell, hostCalls, hosts, world } = this.#term;
    const host = cell.state.hostOf(allocation.host);
    if (host === undefined) return;
    let report: AllocationReport | null;
    try {
      report = await hostCalls.to(host.id).add(() => hosts.get(host.address, allocation.id));
    } catch (error) {
      world.log.debug(
        { allocation: allocation.id, error },
        'a host did not say what became of an allocation',
      );
      return;
    }
    if (!isCurrent(this.#term, job, entry) || entry.releasing || entry.marking) return;
    if (report !== null) {
      this.#term.report(report);
      return;
    }
    const nowMs = Math.floor(world.clock.nowMs());
    this.#parts.releaser.release(job, entry, forgottenOutcome(entry.allocation, 'host-forgot', nowMs));
  }
}
