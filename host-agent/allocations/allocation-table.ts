import type { Host } from '../../src/core/host/host.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { AllocationHost, AllocationRun } from './allocations.ts';
import { CellContact } from './cell-contact.ts';
import { LocalLedger } from './local-ledger.ts';
import type { ReportFeed } from './report-feed.ts';

/** All allocations of a host, with what they hold and who is told when one of them changes. */
export class AllocationTable implements AllocationHost {
  readonly feed: ReportFeed;
  readonly ledger: LocalLedger;
  readonly contact = new CellContact();
  readonly #runs = new Map<string, AllocationRun>();
  /** Accepted, and waiting until its victims are gone. */
  readonly #waiting = new Set<AllocationRun>();
  readonly #listeners = new Map<string, Set<() => void>>();

  readonly #freePorts: (run: AllocationRun) => void;
  readonly #counted: (records: number) => void;

  /**
   * @param freePorts told of each allocation that was released
   * @param counted told how many records there are, when it is another number
   */
  constructor(
    feed: ReportFeed,
    host: () => Host,
    freePorts: (run: AllocationRun) => void,
    counted: (records: number) => void,
  ) {
    this.#freePorts = freePorts;
    this.#counted = counted;
    this.feed = feed;
    this.ledger = new LocalLedger(host);
  }

  get size(): number {
    return this.#runs.size;
  }

  all(): readonly AllocationRun[] {
    return [...this.#runs.values()];
  }

  get(id: string): AllocationRun | undefined {
    return this.#runs.get(id);
  }

  add(run: AllocationRun): void {
    this.#runs.set(run.id, run);
    this.#counted(this.#runs.size);
    this.feed.changed(run.report());
  }

  delete(id: string): void {
    this.#runs.delete(id);
    this.#counted(this.#runs.size);
    this.feed.gone(id);
  }

  /** Calls `listener` when the allocation's report changes. @returns ends it */
  onChange(id: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(id);
    };
  }

  /** Resolves when the allocation is released or the time is over. */
  whenReleased(run: AllocationRun, clock: Clock, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        stop();
        cancel();
        resolve();
      };
      const check = (): void => {
        if (run.isReleased) finish();
      };
      const stop = this.onChange(run.id, check);
      const cancel = clock.after(waitMs, finish);
      check();
    });
  }

  mayBegin(run: AllocationRun): boolean {
    const gone = (run.allocation.evicts ?? []).every((id) => !this.ledger.holds(id));
    const may = gone && this.ledger.begin(run.id);
    if (may) this.#waiting.delete(run);
    else this.#waiting.add(run);
    return may;
  }

  changed(run: AllocationRun, report: AllocationReport, json: string): void {
    if (this.#runs.get(run.id) !== run) return;
    this.feed.changed(report, json);
    for (const listener of [...(this.#listeners.get(run.id) ?? [])]) listener();
  }

  released(run: AllocationRun): void {
    this.#freePorts(run);
    this.ledger.release(run.id);
    this.#waiting.delete(run);
    for (const waiting of this.#waiting) waiting.wake();
  }
}
