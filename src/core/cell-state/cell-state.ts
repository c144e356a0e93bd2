import { CellIndex } from './cell-index.ts';
import type { Claim } from '../cell/claim.ts';
import type { Host } from '../host/host.ts';
import { allocatable } from '../host/host.ts';
import type { HostSlot, KnownHost } from './host-slot.ts';
import { newSlot, NO_CLAIMS, noteFreed, register } from './host-slot.ts';
import type { Ledger } from '../fit/ledger.ts';
import { EMPTY_LEDGER, withClaim } from '../fit/ledger.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';
import { PoolBook } from '../quota/pool-book.ts';
import type { Scale } from '../scoring/scoring.ts';
import { Selections } from './selections.ts';

/** One host as the filters see it: the ledger counts the scheduler's own claims in flight. */
export interface HostSnapshot {
  readonly host: Host;
  readonly ledger: Ledger;
  readonly alive: boolean;
  readonly pools: PoolBook;
}

/**
 * A scheduler's private copy of the cell: hosts, their ledgers as last seen, and on top of those the own claims whose
 * commit is under way. A guess, never the truth: only the compare of a commit is.
 */
export class CellState {
  /** The tables that placing reads; every method below keeps them up to date. */
  readonly index = new CellIndex();
  /** What groups' constraints say about the hosts. */
  readonly selections: Selections;
  /** What hosts share. */
  readonly pools: PoolBook;
  readonly #slots = new Map<string, HostSlot>();
  #inFlight = 0;
  /** Hosts whose new ledger nobody has read. */
  readonly #unread = new Set<HostSlot>();
  readonly #readLedger: (id: string) => void;
  #scale: Scale = { cpuMilli: 0, memoryMib: 0, gpuMilli: 0 };

  /** @param readLedger calls `setLedger` for the host with what `setUnread` told of */
  constructor(readLedger: (id: string) => void = () => undefined, pools = new PoolBook()) {
    this.#readLedger = readLedger;
    this.pools = pools;
    this.selections = new Selections(this.index, pools);
    this.index.read = (host) => this.#read(this.index.slot(host));
  }

  /** How many hosts are registered, fit for work or not. */
  get size(): number {
    return this.index.size;
  }

  /** How many claims are assumed and neither settled nor forgotten. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The largest amounts that any host seen so far gives away. */
  get scale(): Scale {
    return this.#scale;
  }

  setHost(host: Host): void {
    const slot = this.#slot(host.id);
    register(slot, host);
    this.index.add(slot, host);
    const { cpuMilli, memoryMib } = allocatable(host);
    this.#scale = {
      cpuMilli: Math.max(this.#scale.cpuMilli, cpuMilli),
      memoryMib: Math.max(this.#scale.memoryMib, memoryMib),
      gpuMilli: Math.max(this.#scale.gpuMilli, host.gpuModels.length * GPU_MILLI_PER_DEVICE),
    };
  }

  /** The registration is gone; what is known beside it stays, for the host may come back. */
  removeHost(id: string): void {
    const slot = this.#slots.get(id);
    if (slot?.host === undefined) return;
    if (slot.unread) this.#read(slot);
    slot.host = undefined;
    this.index.remove(slot);
  }

  /** A host starts as not alive: nobody has heard of it. */
  setAlive(id: string, alive: boolean): void {
    const slot = this.#slot(id);
    if (slot.alive === alive) return;
    slot.alive = alive;
    this.index.refill(slot);
  }

  /** The ledger at a store revision; one older than the known is ignored, as watch events may come late or twice. */
  setLedger(id: string, ledger: Ledger, revision: number): void {
    const slot = this.#slot(id);
    if (revision < slot.revision) return;
    if (slot.unread) this.#forgetUnread(slot);
    noteFreed(slot, slot.ledger.ports, ledger.ports);
    slot.ledger = ledger;
    slot.revision = revision;
    this.index.refill(slot);
  }

  /** The host's ledger has changed; it is read when a search comes by, or fails. */
  setUnread(id: string): void {
    const slot = this.#slot(id);
    if (slot.unread) return;
    slot.unread = true;
    this.#unread.add(slot);
    if (slot.index < 0) this.#read(slot);
    else this.index.unread[slot.index] = 1;
    this.index.unreadCount = this.#unread.size;
  }

  /** Reads all that is unread. @returns whether there was any */
  readAll(): boolean {
    if (this.#unread.size === 0) return false;
    for (const slot of [...this.#unread]) this.#read(slot);
    return true;
  }

  /**
   * Counts the claim as given away until it is settled or forgotten.
   * @param known the claim's host, for who has it at hand
   */
  assume(claim: Claim, known?: KnownHost): void {
    const slot = this.#slotAt(known) ?? this.#slot(claim.host);
    if (placeIn(slot.inFlight, claim.id) >= 0) throw new Error(`claim ${claim.id} is assumed already`);
    this.#inFlight += 1;
    // Most hosts have one at a time, and a list made for one takes less than a list that may grow.
    if (slot.inFlight.length === 0) slot.inFlight = [claim];
    else slot.inFlight.push(claim);
    this.index.shift(slot, claim, 1);
    if (claim.shared !== undefined) this.pools.assume(claim.shared, 1);
  }

  /** The claim was committed and a ledger that includes it was set: it must not count twice. Unknown ones do nothing. */
  settle(claim: ClaimRef, known?: KnownHost): void {
    this.#drop(claim, known);
  }

  /** The claim was refused: its place is free again. Unknown ones do nothing. */
  forget(claim: ClaimRef, known?: KnownHost): void {
    this.#drop(claim, known);
  }

  hostOf(id: string): Host | undefined {
    return this.#slots.get(id)?.host;
  }

  isAlive(id: string): boolean {
    return this.#slots.get(id)?.alive ?? false;
  }

  /** The host by its name: the same object always, also before it is registered and when it is gone. */
  known(id: string): KnownHost {
    return this.#slot(id);
  }

  /** Ports of the host that were seen to become free, least recently first. */
  freedPortsOf(id: string): readonly number[] {
    return this.#slots.get(id)?.freed ?? [];
  }

  /** The host's row in `index`; −1 when it is not registered. */
  indexOf(id: string): number {
    return this.#slots.get(id)?.index ?? -1;
  }

  /** The known ledger with the own claims in flight added. */
  ledgerOf(id: string): Ledger {
    const slot = this.#slots.get(id);
    if (slot?.unread === true) this.#read(slot);
    return slot === undefined ? EMPTY_LEDGER : ledgerWithOwn(slot);
  }

  /** Every registered host as the filters see it. */
  *views(): IterableIterator<HostSnapshot> {
    this.readAll();
    for (const slot of this.#slots.values()) {
      const { host, alive } = slot;
      if (host !== undefined) yield { host, ledger: ledgerWithOwn(slot), alive, pools: this.pools };
    }
  }

  #read(slot: HostSlot): void {
    this.#forgetUnread(slot);
    this.#readLedger(slot.id);
  }

  #forgetUnread(slot: HostSlot): void {
    slot.unread = false;
    this.#unread.delete(slot);
    if (slot.index >= 0) this.index.unread[slot.index] = 0;
    this.index.unreadCount = this.#unread.size;
  }

  #slotAt(known: KnownHost | undefined): HostSlot | null {
    const slot = known === undefined ? null : this.index.slotAt(known.index);
    return slot === known ? slot : null;
  }

  #slot(id: string): HostSlot {
    let slot = this.#slots.get(id);
    if (slot === undefined) {
      slot = newSlot(id);
      this.#slots.set(id, slot);
    }
    return slot;
  }

  #drop({ id, host }: ClaimRef, known: KnownHost | undefined): void {
    const slot = this.#slotAt(known) ?? this.#slots.get(host);
    const place = slot === undefined ? -1 : placeIn(slot.inFlight, id);
    const claim = slot?.inFlight[place];
    if (slot === undefined || claim === undefined) return;
    this.#inFlight -= 1;
    if (slot.inFlight.length === 1) slot.inFlight = NO_CLAIMS;
    else {
      const last = slot.inFlight.pop();
      if (last !== undefined && last !== claim) slot.inFlight[place] = last;
    }
    this.index.shift(slot, claim, -1);
    if (claim.shared !== undefined) this.pools.assume(claim.shared, -1);
  }
}

/**
 * Names an assumed claim. It is looked for on its host: with a table of all claims by their ids, which come and go by the
 * thousand, twice as much outlived the young garbage collections (decision 142).
 */
export type ClaimRef = Pick<Claim, 'id' | 'host'>;

function placeIn(claims: readonly Claim[], id: string): number {
  for (let n = 0; n < claims.length; n++) if (claims[n]!.id === id) return n;
  return -1;
}

function ledgerWithOwn(slot: HostSlot): Ledger {
  let ledger = slot.ledger;
  for (const claim of slot.inFlight) ledger = withClaim(ledger, claim);
  return ledger;
}
