import type { Claim } from './claim.ts';
import type { HostView } from './filters.ts';
import type { Host } from './host.ts';
import { allocatable } from './host.ts';
import type { Ledger } from './ledger.ts';
import { EMPTY_LEDGER, withClaim } from './ledger.ts';
import { GPU_MILLI_PER_DEVICE } from './resources.ts';
import type { Scale } from './scores.ts';

/** All that is known of one host, also before it is registered: ledgers and signs of life may come first. */
interface HostSlot {
  readonly id: string;
  host: Host | undefined;
  ledger: Ledger;
  revision: number;
  alive: boolean;
  /** Own claims that the known ledger does not include yet. */
  readonly inFlight: Map<string, Claim>;
}

/**
 * A scheduler's private copy of the cell: hosts, their ledgers as last seen, and on top of those the own claims whose
 * commit is under way. A guess, never the truth: only the compare of a commit is.
 */
export class CellState {
  readonly #slots = new Map<string, HostSlot>();
  readonly #inFlight = new Map<string, Claim>();
  #size = 0;
  #scale: Scale = { cpuMilli: 0, memoryMib: 0, gpuMilli: 0 };

  /** How many hosts are registered, fit for work or not. */
  get size(): number {
    return this.#size;
  }

  /** The largest amounts that any host seen so far gives away. */
  get scale(): Scale {
    return this.#scale;
  }

  setHost(host: Host): void {
    const slot = this.#slot(host.id);
    if (slot.host === undefined) this.#size += 1;
    slot.host = host;
    const { cpuMilli, memoryMib } = allocatable(host);
    this.#scale = {
      cpuMilli: Math.max(this.#scale.cpuMilli, cpuMilli),
      memoryMib: Math.max(this.#scale.memoryMib, memoryMib),
      gpuMilli: Math.max(this.#scale.gpuMilli, host.gpuModels.length * GPU_MILLI_PER_DEVICE),
    };
  }

  removeHost(id: string): void {
    const slot = this.#slots.get(id);
    if (slot?.host === undefined) return;
    slot.host = undefined;
    this.#size -= 1;
  }

  /** A host starts as not alive: nobody has heard of it. */
  setAlive(id: string, alive: boolean): void {
    this.#slot(id).alive = alive;
  }

  /** The ledger at a store revision; one older than the known is ignored, as watch events may come late or twice. */
  setLedger(id: string, ledger: Ledger, revision: number): void {
    const slot = this.#slot(id);
    if (revision < slot.revision) return;
    slot.ledger = ledger;
    slot.revision = revision;
  }

  /** Counts the claim as given away until it is settled or forgotten. */
  assume(claim: Claim): void {
    if (this.#inFlight.has(claim.id)) throw new Error(`claim ${claim.id} is assumed already`);
    this.#inFlight.set(claim.id, claim);
    this.#slot(claim.host).inFlight.set(claim.id, claim);
  }

  /** The claim was committed and a ledger that includes it was set: it must not count twice. */
  settle(claimId: string): void {
    this.#drop(claimId);
  }

  /** The claim was refused: its place is free again. */
  forget(claimId: string): void {
    this.#drop(claimId);
  }

  hostOf(id: string): Host | undefined {
    return this.#slots.get(id)?.host;
  }

  isAlive(id: string): boolean {
    return this.#slots.get(id)?.alive ?? false;
  }

  /** The known ledger with the own claims in flight added. */
  ledgerOf(id: string): Ledger {
    const slot = this.#slots.get(id);
    return slot === undefined ? EMPTY_LEDGER : ledgerWithOwn(slot);
  }

  /** Every registered host as the filters see it. */
  *views(): IterableIterator<HostView> {
    for (const slot of this.#slots.values()) {
      if (slot.host !== undefined) yield { host: slot.host, ledger: ledgerWithOwn(slot), alive: slot.alive };
    }
  }

  #slot(id: string): HostSlot {
    let slot = this.#slots.get(id);
    if (slot === undefined) {
      slot = { id, host: undefined, ledger: EMPTY_LEDGER, revision: 0, alive: false, inFlight: new Map() };
      this.#slots.set(id, slot);
    }
    return slot;
  }

  #drop(claimId: string): void {
    const claim = this.#inFlight.get(claimId);
    if (claim === undefined) return;
    this.#inFlight.delete(claimId);
    this.#slots.get(claim.host)?.inFlight.delete(claimId);
  }
}

function ledgerWithOwn(slot: HostSlot): Ledger {
  let ledger = slot.ledger;
  for (const claim of slot.inFlight.values()) ledger = withClaim(ledger, claim);
  return ledger;
}
