/**
 * Level-triggered repair: what a lost message or an earlier store left behind is found without it.
 *
 * - `Sweeper` (this file) goes through all owned jobs every 5 s: reports that were missed, jobs parked for too long, and
 *   allocations that no monitor shows. It puts hosts in order that came meanwhile.
 * - `host-checks.ts` asks hosts for those allocations.
 * - `unrecorded.ts` takes up allocations that hosts run and a restored store has no record of; `ownership/job-intake.ts` calls
 *   it whenever it reads a job.
 *
 * Repairs that belong to one step are made there: `gangs/gang-repair.ts`, `hosts/starter.ts`. Records without an owner are
 * the monitors' reaper's.
 */
import type { Releaser } from '../commit/releaser.ts';
import type { Parking } from '../decide/parking.ts';
import type { Reports } from '../hosts/reports.ts';
import type { JobTable, OwnEntry } from '../state/job-table.ts';
import type { Term } from '../state/state.ts';
import { HostChecks } from './host-checks.ts';

const SWEEP_MS = 5_000;
/** Every so many sweeps all jobs are decided again, whether or not anything changed. */
const SWEEPS_PER_RESYNC = 6;
/** A fresh allocation may take this long to show in the monitors' view before its host is asked. */
const SHOW_MS = 5_000;

export interface SweeperParts {
  readonly table: JobTable;
  readonly reports: Reports;
  readonly parking: Parking;
  readonly releaser: Releaser;
}

/** Checks all owned jobs every few seconds; see the head of this file. */
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
    const { table, parking, reports } = this.#parts;
    parking.wakeOverdue();
    this.#term.cell.state.arrange();
    const nowMs = this.#term.world.clock.nowMs();
    reports.refresh();
    const unseen: OwnEntry[] = [];
    for (const own of table.entries()) {
      const { job, entry } = own;
      const { host, id, createdAtMs } = entry.allocation;
      const report = reports.get(host, id);
      if (report !== undefined) this.#term.report(report);
      if (entry.report?.released === true) this.#term.enqueue(job);
      const isShown = report !== undefined && reports.isReporting(host);
      // In either direction: what a clock dated far ahead before it was set back is not fresh.
      const isFresh = Math.abs(nowMs - createdAtMs) < SHOW_MS;
      if (entry.stage === 'started' && !entry.releasing && !isShown && !isFresh) unseen.push(own);
    }
    this.#checks.sweep(unseen);
    this.#sweeps += 1;
    const isResync = this.#sweeps % SWEEPS_PER_RESYNC === 0;
    for (const job of table.jobs())
      if (isResync || job.record.desired === 'stop' || job.revisit) this.#term.enqueue(job);
  }
}
