import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { HostChange, HostFreshness } from '../../src/runtime/reports/cell-view.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { eventOfReport } from './cell-events.ts';
import type { LazyEvent } from './events.ts';

/** Reports of hosts as events of the cell: only changes, since every host begins with all that it has. */
export class HostEvents {
  readonly #self: string;
  readonly #clock: Clock;
  readonly #emit: (event: CellEvent | LazyEvent | null) => void;
  /** Hosts that have sent their full report: later reports are changes. */
  readonly #introduced = new Set<string>();
  #count = 0;

  constructor(self: string, clock: Clock, emit: (event: CellEvent | LazyEvent | null) => void) {
    this.#self = self;
    this.#clock = clock;
    this.#emit = emit;
  }

  report(
    report: AllocationReport,
    previous: AllocationReport | undefined,
    freshness: HostFreshness | undefined,
  ): void {
    if (freshness === undefined || !this.#introduced.has(report.host)) return;
    this.#emit(eventOfReport(report, previous, freshness, this.#clock.nowMs()));
  }

  host({ host }: HostFreshness, what: HostChange): void {
    const isKnown = this.#introduced.has(host);
    if (what === 'left') this.#introduced.delete(host);
    else if (what !== 'silent') this.#introduced.add(host);
    if (!isKnown) return;
    if (what === 'silent') this.#add('host-silent', 'its reports stopped', host);
    else if (what === 'reporting') this.#add('host-heard', 'its reports go on', host);
  }

  /** @param hosts how many vanished at once, so that verdicts on them are slowed; 0: no more */
  heldBack(hosts: number): void {
    if (hosts === 0) this.#add('verdicts-resumed', 'hosts are judged one by one again');
    else
      this.#add(
        'verdicts-held-back',
        `${String(hosts)} hosts vanished at once: they are declared lost later than one alone, a few at a time`,
      );
  }

  #add(kind: string, detail: string, host?: string): void {
    this.#count += 1;
    const event = {
      id: `${this.#self}:${String(this.#count)}`,
      atMs: this.#clock.nowMs(),
      kind,
      source: this.#self,
      detail,
    };
    this.#emit(host === undefined ? event : { ...event, host });
  }
}
