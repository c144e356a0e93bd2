import { areApart } from '../../src/core/cell/interference.ts';
import { REVERT_OPERATIONS_MAX } from '../../src/core/commit/pending-preemption.ts';
import { fitShortfall } from '../../src/core/fit/fit.ts';
import { holdsUse, withoutUse } from '../../src/core/fit/ledger.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import type { PlacementRequest, Placement } from '../../src/core/placement/placement-request.ts';
import { NO_PORTS } from '../../src/core/fit/port-choice.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { chooseVictims, placeOn } from '../../src/core/preemption/victims.ts';
import type { Entry } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';

/** More victims than these on one host would be an emptying of it; a start order names at most 256. */
const VICTIMS_MAX = 128;

/** One host that members of a gang go to, in the place of victims; all in memory. */
export class GangHost {
  readonly id: string;
  /** The members that go there, except those that fit without victims. */
  readonly entries: Entry[] = [];
  readonly #term: Term;
  readonly #fitting: number;
  /** What could still be chosen. */
  #running: AllocationReport[] = [];
  #victims: readonly AllocationReport[] = [];

  /** @param fitting members of the gang that are on the host already, where they fitted */
  constructor(term: Term, id: string, fitting: number) {
    this.#term = term;
    this.id = id;
    this.#fitting = fitting;
  }

  get victims(): readonly AllocationReport[] {
    return this.#victims;
  }

  /** @param running the possible victims there */
  offer(running: readonly AllocationReport[]): void {
    this.#running = [...running];
  }

  /** A placement without another victim. */
  fit(request: PlacementRequest): Placement | null {
    const host = this.#term.cell.state.hostOf(this.id);
    const ledger = this.#ledger();
    if (host === undefined || ledger === null || !this.#isOneTransaction(0)) return null;
    return placeOn(host, ledger, request, this.#term.world.random);
  }

  /** A placement with more victims, which count as chosen from now on; null: there is none with any victims. */
  preempt(request: PlacementRequest): Placement | null {
    const { cell, world } = this.#term;
    const host = cell.state.hostOf(this.id);
    const ledger = this.#ledger();
    if (host === undefined || ledger === null) return null;
    const choice = chooseVictims(host, ledger, request, this.#running, world.random);
    if (choice === null || !this.#isOneTransaction(choice.victims.length)) return null;
    // The preemption may be taken back, and they must not find each other then.
    if (choice.victims.some((victim) => isApartFrom(victim, request))) return null;
    this.#victims = [...this.#victims, ...choice.victims];
    this.#running = this.#running.filter((report) => !choice.victims.includes(report));
    return choice.placement;
  }

  /** Drops victims that the choices for later members made needless: the highest precedence first. */
  spareSurplus(): void {
    const host = this.#term.cell.state.hostOf(this.id);
    if (host === undefined) return;
    let ledger = this.#ledger();
    for (const victim of [...this.#victims].sort((a, b) => b.precedence - a.precedence)) {
      if (ledger === null || fitShortfall(host, ledger, { ...victim, ports: NO_PORTS }) !== null) continue;
      this.#victims = this.#victims.filter((other) => other !== victim);
      ledger = this.#ledger();
    }
  }

  /** The ledger with the gang's assumed members and without the victims; null: what is known of the host is outdated. */
  #ledger(): Ledger | null {
    let ledger = this.#term.cell.state.ledgerOf(this.id);
    for (const victim of this.#victims) {
      if (!holdsUse(ledger, victim)) return null;
      ledger = withoutUse(ledger, victim);
    }
    return ledger;
  }

  /** Members and victims of one host are committed, or taken back, together: do one more member and `more` victims fit? */
  #isOneTransaction(more: number): boolean {
    // The store may take less when they are taken back.
    const operationsMax = Math.min(REVERT_OPERATIONS_MAX, this.#term.world.store.limits.operationsMax);
    const shares = Object.keys(this.entries[0]?.allocation.shared ?? {}).length;
    const members = this.#fitting + this.entries.length + 1;
    const victims = this.#victims.length + more;
    // Beside them: the ledger, the owner key, the intent; and each pool, with an operator's record of it.
    return members + victims + 3 + 2 * shares <= operationsMax && victims <= VICTIMS_MAX;
  }
}

function isApartFrom({ resources }: AllocationReport, { ask }: PlacementRequest): boolean {
  return areApart(resources.scalars, ask.resources.scalars);
}
