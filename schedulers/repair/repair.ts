import type { Term } from '../state/state.ts';
import { HostChecks } from './host-checks.ts';
import type { JobBook, OwnEntry } from '../state/job-table.ts';
import type { Parking } from '../decide/parking.ts';
import type { Releaser } from '../commit/releaser.ts';
import type { Reports } from '../hosts/reports.ts';

/** The level-triggered repair: what a lost message left behind is found after this time. */
const SWEEP_MS = 5_000;
/** Every so many sweeps each job is looked at, whether or not anything told of it. */
const SWEEPS_PER_LOOK = 6;
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
  readonly #checks: HostChecks;
  #cancel: () => void = () => undefined;
  #sweeps = 0;

  constructor(term: Term, parts: SweeperParts) {
    this.#term = term;
    this.#parts = parts;
    this.#checks = new HostChecks(term, parts.releaser);
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
    const unseen: OwnEntry[] = [];
    for (const own of book.entries()) {
      const { job, entry } = own;
      const { host, id, createdAtMs } = entry.allocation;
      const report = reports.get(host, id);
      if (report !== undefined) this.#term.report(report);
      if (entry.report?.released === true) this.#term.look(job);
      const isShown = report !== undefined && reports.isHeard(host);
      // In either direction: what a clock dated far ahead before it was set back is not fresh.
      const isFresh = Math.abs(nowMs - createdAtMs) < SHOW_MS;
      if (entry.stage === 'started' && !entry.releasing && !isShown && !isFresh) unseen.push(own);
    }
    this.#checks.sweep(unseen);
    this.#sweeps += 1;
    const isWhole = this.#sweeps % SWEEPS_PER_LOOK === 0;
    for (const job of book.jobs())
      if (isWhole || job.record.desired === 'stop' || job.again) this.#term.look(job);
  }
}
