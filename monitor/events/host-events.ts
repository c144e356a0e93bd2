import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { HostChange, HostFreshness } from '../../src/runtime/reports/cell-view.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { eventOfReport } from './cell-events.ts';
import type { LazyEvent } from './events.ts';

/** What hosts say, as events of the cell: only what is news, since every host begins with all that it has. */
export class HostEvents {
  readonly #self: string;
  readonly #clock: Clock;
  readonly #tell: (event: CellEvent | LazyEvent | null) => void;
  /** Hosts whose first words are behind us: what they say from now on is news. */
  readonly #introduced = new Set<string>();
  #told = 0;

  constructor(self: string, clock: Clock, tell: (event: CellEvent | LazyEvent | null) => void) {
    this.#self = self;
    this.#clock = clock;
    this.#tell = tell;
  }

  report(
    report: AllocationReport,
    previous: AllocationReport | undefined,
    sight: HostFreshness | undefined,
  ): void {
    if (sight === undefined || !this.#introduced.has(report.host)) return;
    this.#tell(eventOfReport(report, previous, sight, this.#clock.nowMs()));
  }

  host({ host }: HostFreshness, what: HostChange): void {
    const isKnown = this.#introduced.has(host);
    if (what === 'left') this.#introduced.delete(host);
    else if (what !== 'silent') this.#introduced.add(host);
    if (!isKnown) return;
    if (what === 'silent') this.#say('host-silent', 'its reports stopped', host);
    else if (what === 'heard') this.#say('host-heard', 'its reports go on', host);
  }

  /** @param hosts how many vanished at once and are not declared lost; 0: no more */
  heldBack(hosts: number): void {
    if (hosts === 0) this.#say('verdicts-resumed', 'hosts are judged one by one again');
    else
      this.#say(
        'verdicts-held-back',
        `${String(hosts)} hosts vanished at once: none of them is declared lost`,
      );
  }

  #say(kind: string, detail: string, host?: string): void {
    this.#told += 1;
    const event = {
      id: `${this.#self}:${String(this.#told)}`,
      atMs: this.#clock.nowMs(),
      kind,
      source: this.#self,
      detail,
    };
    this.#tell(host === undefined ? event : { ...event, host });
  }
}
