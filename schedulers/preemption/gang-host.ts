import { REVERT_OPERATIONS_MAX } from '../../src/core/commit/pending-preemption.ts';
import { fitShortfall } from '../../src/core/fit/fit.ts';
import { holdsUse, withoutUse } from '../../src/core/fit/ledger.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import type { PlacementRequest, Placement } from '../../src/core/placement/placement-request.ts';
import { NO_PORTS } from '../../src/core/fit/port-choice.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { chooseVictims, placeOn } from '../../src/core/preemption/victims.ts';
import type { Term } from '../state/state.ts';
import type { Entry } from '../state/owned-job.ts';

/** More allocations than these are no eviction, but an emptying of the host; a start order names at most 256. */
const EVICTS_MAX = 128;

/** One host that members of a gang go to in others' place, chosen in memory. */
export class Floor {
  readonly host: string;
  /** The members that go there, but for those that fit without anybody having to go. */
  readonly entries: Entry[] = [];
  readonly #term: Term;
  readonly #fitting: number;
  /** What could still be chosen. */
  #running: AllocationReport[] = [];
  #victims: readonly AllocationReport[] = [];

  /** @param fitting members of the gang that are on the host already, where they found room */
  constructor(term: Term, host: string, fitting: number) {
    this.#term = term;
    this.host = host;
    this.#fitting = fitting;
  }

  get victims(): readonly AllocationReport[] {
    return this.#victims;
  }

  /** @param running what may give way there */
  offer(running: readonly AllocationReport[]): void {
    this.#running = [...running];
  }

  /** A place for which nobody more has to go. */
  rest(request: PlacementRequest): Placement | null {
    const host = this.#term.cell.state.hostOf(this.host);
    const ledger = this.#ledger();
    if (host === undefined || ledger === null || !this.#isOneTransaction(0)) return null;
    return placeOn(host, ledger, request, this.#term.world.random);
  }

  /** A place for which some more have to go, who are victims from now on; null: there is none, whoever goes. */
  clear(request: PlacementRequest): Placement | null {
    const { cell, world } = this.#term;
    const host = cell.state.hostOf(this.host);
    const ledger = this.#ledger();
    if (host === undefined || ledger === null) return null;
    const choice = chooseVictims(host, ledger, request, this.#running, world.random);
    if (choice === null || !this.#isOneTransaction(choice.victims.length)) return null;
    this.#victims = [...this.#victims, ...choice.victims];
    this.#running = this.#running.filter((report) => !choice.victims.includes(report));
    return choice.placement;
  }

  /** Lets those stay whom the choices for later members made needless: the highest precedence first. */
  spareNeedless(): void {
    const host = this.#term.cell.state.hostOf(this.host);
    if (host === undefined) return;
    let ledger = this.#ledger();
    for (const victim of [...this.#victims].sort((a, b) => b.precedence - a.precedence)) {
      if (ledger === null || fitShortfall(host, ledger, { ...victim, ports: NO_PORTS }) !== null) continue;
      this.#victims = this.#victims.filter((other) => other !== victim);
      ledger = this.#ledger();
    }
  }

  /** With what the gang has taken there in memory, and without whom it makes give way; null: what is known of it is old. */
  #ledger(): Ledger | null {
    let ledger = this.#term.cell.state.ledgerOf(this.host);
    for (const victim of this.#victims) {
      if (!holdsUse(ledger, victim)) return null;
      ledger = withoutUse(ledger, victim);
    }
    return ledger;
  }

  /** All members and victims of one host come, and go back, together: is there room for one more, and more victims? */
  #isOneTransaction(more: number): boolean {
    // The store may take less when they go back.
    const operationsMax = Math.min(REVERT_OPERATIONS_MAX, this.#term.world.store.limits.operationsMax);
    const shares = Object.keys(this.entries[0]?.allocation.shared ?? {}).length;
    const members = this.#fitting + this.entries.length + 1;
    const victims = this.#victims.length + more;
    // Beside them: the ledger, the owner key, the intent; and each pool, with what an operator says of it.
    return members + victims + 3 + 2 * shares <= operationsMax && victims <= EVICTS_MAX;
  }
}
